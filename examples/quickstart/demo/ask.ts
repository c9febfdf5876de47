import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';

/**
 * One request, written once: it is sent from here and printed as the same `curl` command. `$NAME` in a header
 * stands for a shell variable of an earlier step. Not sent by curl itself, because not every machine has it.
 */
export interface Ask {
  readonly url: string;
  readonly method?: 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export type Variables = Map<string, string>;

const answerWithinMilliseconds = 60_000;

/** Sends the request; rejects when no whole answer comes within a minute or the signal aborts. */
export async function send(ask: Ask, variables: Variables, signal: AbortSignal): Promise<Answer> {
  const body = bodyOf(ask);
  const headers = Object.entries(ask.headers ?? {}).map(([name, value]) => [name, fillIn(value, variables)]);
  if (ask.form) headers.push(['content-type', 'application/x-www-form-urlencoded']);
  const request = httpRequest(ask.url, {
    method: ask.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: Object.fromEntries(headers) as Record<string, string>,
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithinMilliseconds)]),
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    headers: response.headers,
    body: text,
  };
}

function bodyOf(ask: Ask): string | undefined {
  if (ask.form) return new URLSearchParams(ask.form).toString();
  return ask.json === undefined ? undefined : JSON.stringify(ask.json);
}

function fillIn(text: string, variables: Variables): string {
  return text.replace(/\$([A-Z]+)/g, (_, name: string) => variables.get(name) ?? '');
}

/** The same request for a shell. */
export function asCurl(ask: Ask, flags: string): string {
  const parts = [`curl ${flags} ${ask.url}`];
  if (ask.method) parts[0] += ` -X ${ask.method}`;
  for (const [name, value] of Object.entries(ask.headers ?? {}))
    parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (ask.form) {
    parts.push(
      Object.entries(ask.form)
        .map(([name, value]) => `-d ${quote(`${name}=${value}`)}`)
        .join(' '),
    );
  }
  if (ask.json !== undefined) parts.push(`-d ${quote(JSON.stringify(ask.json))}`);
  return parts.join(' \\\n  ');
}

/** Quotes a word for `sh`; double quotes only where a variable has to be filled in. */
function quote(word: string): string {
  if (/^[\w=:/.@-]+$/.test(word)) return word;
  if (/\$[A-Z]/.test(word)) return `"${word.replace(/["\\`]/g, '\\$&')}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

import type { IncomingMessage } from 'node:http';
import { Refused } from './reply.ts';

const largestBody = 16 * 1024 * 1024;

type Lists = Record<string, string[]>;

/** The request's headers as they came, names capitalised (`X-Request-Id`), every value in a list. */
export function headerLists(raw: readonly string[]): Lists {
  const lists = new Map<string, string[]>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [written = '', value = ''] = raw.slice(i, i + 2);
    const name = written.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
    const values = lists.get(name);
    if (values) values.push(value);
    else lists.set(name, [value]);
  }
  return Object.fromEntries([...lists].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The address of the caller, as a server behind proxies sees it. Fit for an echo only: anybody may send this
 * header.
 */
export function origin(request: IncomingMessage): string {
  const forwarded = request.headers['x-forwarded-for'];
  const first = (Array.isArray(forwarded) ? forwarded[0] : forwarded)?.split(',')[0]?.trim();
  return first || (request.socket.remoteAddress ?? '');
}

/** The answer of `/get` about a request: all but its body. */
export function describe(request: IncomingMessage, url: URL): Record<string, unknown> {
  const scheme = request.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  return {
    args: entryLists(url.searchParams),
    headers: headerLists(request.rawHeaders),
    method: request.method,
    origin: origin(request),
    url: `${scheme}://${request.headers.host ?? ''}${request.url}`,
  };
}

/** The answer of `/post` and similar routes: the same and the body, read by its content type. */
export async function describeWithBody(request: IncomingMessage, url: URL): Promise<Record<string, unknown>> {
  const body = await readBody(request);
  const text = asText(body);
  const type = request.headers['content-type'] ?? '';
  const isForm = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type);
  const { form, files } = isForm ? await readForm(body, type) : { form: {}, files: {} };
  const trailers = headerLists(request.rawTrailers);
  return {
    ...describe(request, url),
    data: isForm ? '' : text,
    form,
    files,
    json: /^application\/([\w.-]+\+)?json\b/i.test(type) ? parseJson(text) : null,
    ...(Object.keys(trailers).length > 0 && { trailers }),
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Left open on a refusal: the answer still has to go out on this connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > largestBody) throw new Refused(413, `the largest body taken is ${largestBody} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Text as it is; anything that is not UTF-8 as a data URL, as httpbin does. */
function asText(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return `data:application/octet-stream;base64,${body.toString('base64')}`;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function readForm(body: Buffer, type: string): Promise<{ form: Lists; files: Lists }> {
  const entries: [string, string][] = [];
  const files: [string, string][] = [];
  try {
    const read = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
    for (const [name, value] of read) {
      if (typeof value === 'string') entries.push([name, value]);
      else files.push([name, asText(Buffer.from(await value.arrayBuffer()))]);
    }
  } catch {
    throw new Refused(400, 'the form in the body cannot be read');
  }
  return { form: entryLists(entries), files: entryLists(files) };
}

function entryLists(entries: Iterable<[string, string]>): Lists {
  const lists = new Map<string, string[]>();
  for (const [name, value] of entries) lists.set(name, [...(lists.get(name) ?? []), value]);
  return Object.fromEntries(lists);
}

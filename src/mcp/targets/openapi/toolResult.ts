import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import { JsonCheck } from '../../json/jsonCheck.ts';
import { skipSpace } from '../../json/scan.ts';
import { YieldQueue } from '../../json/yieldQueue.ts';
import type { ApiAnswer } from './apiExchange.ts';

export interface ResultOptions {
  readonly tool: string;
  readonly promisesObject: boolean;
  readonly maxJsonDepth: number;
  /** Takes the credentials of the gateway out of a text. */
  readonly redact: (text: string) => string;
}

/** A larger answer is checked in pieces of so many bytes, so that others have their turn. */
const pieceBytes = 262_144;
const turns = new YieldQueue();

/** The result of a call, as JSON text without line breaks (MCP, Schema, "CallToolResult"). */
export async function toolResult(answer: ApiAnswer, options: ResultOptions): Promise<string> {
  const { status, type, body } = answer;
  if (status < 200 || status > 299) return errorResult(problemText(answer, options.redact));
  const line = statusText(status);
  if (body.length === 0) {
    // The place of a new thing is all that some APIs tell about it.
    const text = answer.location === undefined ? line : `${line}\nLocation: ${answer.location}`;
    return options.promisesObject ? errorResult(brokenPromise(text, '')) : result([textPart(text)]);
  }
  if (!isText(type, body)) return result([binaryPart(answer, options.tool)]);
  const text = decoded(type, body);
  if (
    isJsonType(type) &&
    isObjectText(text) &&
    (await isJson(utf8Of(type, body, text), options.maxJsonDepth))
  )
    return result([textPart(text)], text.replaceAll(/[\r\n]/g, ' '));
  return options.promisesObject ? errorResult(brokenPromise(line, text)) : result([textPart(text)]);
}

/** A result that tells the client about a mistake; clients show it to the model, which can call again. */
export const errorResult = (text: string): string => `{"content":[${textPart(text)}],"isError":true}`;

const result = (content: readonly string[], structured?: string): string =>
  `{"content":[${content.join(',')}]${structured === undefined ? '' : `,"structuredContent":${structured}`}}`;

const textPart = (text: string): string => `{"type":"text","text":${JSON.stringify(text)}}`;

const statusText = (status: number): string => `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim();

const brokenPromise = (line: string, text: string): string =>
  `${line}: the API did its part, but its answer is not the JSON object that its description promises.${text === '' ? '' : `\n${text}`}`;

function problemText(
  { status, type, body, cut, location, retryAfter }: ApiAnswer,
  redact: (text: string) => string,
): string {
  const head = [
    statusText(status),
    ...(location === undefined ? [] : [`Location: ${location}`]),
    ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
  ].join('\n');
  if (body.length === 0) return redact(head);
  const shown = cut || isText(type, body) ? decoded(type, body) : `${body.length} bytes of ${type}`;
  return redact(`${head}\n\n${shown}${cut ? '…' : ''}`);
}

const isJsonType = (type: string): boolean => /^application\/(?:[^;\s]+\+)?json\s*(?:;|$)/i.test(type);

/** Types that are text in every charset. */
const textTypes = /^text\/|^(?:application|image)\/(?:[^;\s]+\+)?(?:json|xml)\s*(?:;|$)/i;

/** Images and sounds are what they are called; everything else is text where it can be. */
function isText(type: string, body: Buffer): boolean {
  if (/^(?:image\/(?!svg)|audio\/|video\/)/i.test(type)) return false;
  const charset = charsetOf(type);
  if (charset === undefined) return isUtf8(body) && !body.includes(0);
  // Some servers add a charset to every type, so it says nothing about other types than texts.
  return textTypes.test(type) || fits(charset.encoding, body);
}

/** Are the bytes a text of this charset? */
function fits(encoding: string, body: Buffer): boolean {
  try {
    return !new TextDecoder(encoding, { fatal: true }).decode(body).includes('\0');
  } catch {
    return false;
  }
}

function binaryPart({ type, body }: ApiAnswer, tool: string): string {
  const [mimeType = ''] = type.split(';');
  const data = body.toString('base64');
  const kind = /^(image|audio)\//i.exec(mimeType)?.[1]?.toLowerCase();
  if (kind !== undefined) return JSON.stringify({ type: kind, data, mimeType: mimeType.trim() });
  const resource = {
    uri: `answer:${encodeURIComponent(tool)}`,
    mimeType: mimeType.trim() || 'application/octet-stream',
    blob: data,
  };
  return JSON.stringify({ type: 'resource', resource });
}

/** The charset of a text that is not UTF-8, if it is known. */
function charsetOf(type: string): TextDecoder | undefined {
  const [, charset] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type) ?? [];
  if (charset === undefined) return undefined;
  try {
    return new TextDecoder(charset);
  } catch {
    return undefined;
  }
}

/** A byte order mark at the beginning is no part of a text (RFC 8259 §8.1). */
const withoutMark = (body: Buffer): Buffer =>
  body.subarray(0, 3).equals(byteOrderMark) ? body.subarray(3) : body;
const byteOrderMark = Buffer.from('\uFEFF');

const decoded = (type: string, body: Buffer): string =>
  charsetOf(type)?.decode(body) ?? withoutMark(body).toString();

/** The bytes of the text that the client gets: those of another charset may be JSON although their text is none. */
const utf8Of = (type: string, body: Buffer, text: string): Buffer =>
  (charsetOf(type)?.encoding ?? 'utf-8') === 'utf-8' ? withoutMark(body) : Buffer.from(text);

const isObjectText = (text: string): boolean => text.charCodeAt(skipSpace(text, 0)) === 0x7b;

async function isJson(body: Buffer, maxDepth: number): Promise<boolean> {
  if (!isUtf8(body)) return false;
  const check = new JsonCheck(body, { maxDepth, maxNodes: Number.MAX_SAFE_INTEGER });
  let state = check.run(pieceBytes);
  while (state === 'more') {
    await turns.next();
    state = check.run(pieceBytes);
  }
  return state === 'valid';
}

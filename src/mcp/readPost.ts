import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { readEnvelope, type Envelope, type Fault } from './json/envelope.ts';
import { JsonCheck, maxNumber, type JsonLimits, type JsonState } from './json/check.ts';
import { Elements, skipSpace } from './json/scan.ts';
import { Turns } from './json/turns.ts';

/** A POST body, checked to be JSON and cut into its messages. */
export interface Post {
  readonly messages: readonly Envelope[];
  readonly first: Envelope | undefined;
  readonly batch: boolean;
  /** How many of the messages want a response. */
  readonly requests: number;
  /** For errors about the whole: the id of a single request. */
  readonly idText: string | undefined;
}

const maxBatch = 256;

const faults: Readonly<Record<Fault, string>> = {
  not_json: 'invalid request: not an object',
  not_message: 'invalid request: not a JSON-RPC 2.0 message',
  ambiguous: 'invalid request: a member is repeated',
};

/** A larger body is read in pieces of so many bytes, so that others have their turn. */
const pieceBytes = 262_144;
const turns = new Turns();

/**
 * Reads a body; later where it is large.
 * @param body is not used after this has returned
 * @throws GatewayError mcp_parse_error, mcp_invalid_request, mcp_request_too_large; a promise rejects with them
 */
export function readPost(body: Buffer, limits: JsonLimits): Post | Promise<Post> {
  // The bytes of a request belong to its connection, which reads others into the same place.
  if (body.length > pieceBytes) return readLarge(Buffer.from(body), limits);
  checkText(body);
  const check = new JsonCheck(body, limits);
  verify(check.run(body.length), body, limits);
  let text = body.toString();
  // A message is one line on stdio. In JSON text a line break can only be white space.
  if (check.hasLineBreaks) text = text.replaceAll(/[\r\n]/g, ' ');
  return cutUp(text.length === body.length ? text : oneLine(text));
}

async function readLarge(body: Buffer, limits: JsonLimits): Promise<Post> {
  checkText(body);
  // White space says nothing, and everything that looks for a member would have to pass it.
  const check = new JsonCheck(body, limits, true);
  let state = check.run(pieceBytes);
  while (state === 'more') {
    await turns.next();
    state = check.run(pieceBytes);
  }
  verify(state, body, limits);
  await turns.next();
  const { compacted } = check;
  const text = compacted.toString();
  if (text.length === compacted.length) return cutUp(text);
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += pieceBytes) {
    await turns.next();
    parts.push(oneLine(text.slice(at, at + pieceBytes)));
  }
  return cutUp(parts.join(''));
}

function checkText(body: Buffer): void {
  if (!isUtf8(body)) throw new GatewayError('mcp_parse_error', { message: 'parse error: not UTF-8' });
}

function verify(state: JsonState, body: Buffer, { maxDepth, maxNodes }: JsonLimits): void {
  if (state === 'tooDeep' && isClosed(body))
    throw invalid(`invalid request: nested deeper than ${maxDepth} (limits.maxJsonDepth)`);
  if (state === 'tooMany')
    throw new GatewayError('mcp_request_too_large', {
      message: `message too large: more than ${maxNodes} values (limits.maxJsonNodes)`,
    });
  if (state === 'tooLong') throw invalid(`invalid request: a number has more than ${maxNumber} characters`);
  if (state !== 'valid') throw new GatewayError('mcp_parse_error');
}

/** Could the body be whole? One that opens brackets ends with a bracket. */
function isClosed(body: Buffer): boolean {
  let end = body.length - 1;
  while (end > 0 && isSpace(body[end]!)) end--;
  return body[end] === 0x5d || body[end] === 0x7d;
}

const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;

/**
 * These can stand only in strings. Some readers of lines, Node's readline among them, end a line there: a message within
 * a string would be one of its own to such a server, past every rule.
 */
function oneLine(text: string): string {
  return text
    .replaceAll('\u0085', String.raw`\u0085`)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
}

function cutUp(text: string): Post {
  const at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== 0x5b) return single(message(text));
  const messages: Envelope[] = [];
  const elements = new Elements(text, at);
  while (elements.next()) {
    if (messages.length === maxBatch)
      throw invalid(`invalid request: more than ${maxBatch} messages in a batch`);
    messages.push(message(text.slice(elements.start, elements.end)));
  }
  if (messages.length === 0) throw invalid('invalid request: an empty batch');
  return {
    messages,
    first: messages.find((one) => one.method === 'initialize') ?? messages[0],
    batch: true,
    requests: messages.filter((one) => one.kind === 'request').length,
    idText: undefined,
  };
}

function single(one: Envelope): Post {
  const { text, idSpan, kind } = one;
  return {
    messages: [one],
    first: one,
    batch: false,
    requests: kind === 'request' ? 1 : 0,
    idText: kind === 'request' ? text.slice(idSpan.start, idSpan.end) : undefined,
  };
}

function message(text: string): Envelope {
  const read = readEnvelope(text);
  if (typeof read === 'string') throw invalid(faults[read]);
  return read;
}

function invalid(message: string): GatewayError {
  return new GatewayError('mcp_invalid_request', { message });
}

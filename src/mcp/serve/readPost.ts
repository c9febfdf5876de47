import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../errors.ts';
import { clientMembers } from '../messages/clientMembers.ts';
import { envelopeOf, readEnvelope, type Envelope, type Fault, type Span } from '../json/envelope.ts';
import { isSpace } from '../json/jsonBytes.ts';
import { JsonCheck, maxNumber, type JsonLimits, type JsonState } from '../json/jsonCheck.ts';
import { oneLine } from '../json/oneLine.ts';
import { Outline } from '../json/outline.ts';
import { Elements, skipSpace } from '../json/scan.ts';
import { YieldQueue } from '../json/yieldQueue.ts';

/** A POST body, checked to be JSON and cut into its messages. */
export interface Post {
  readonly messages: readonly Envelope[];
  readonly first: Envelope | undefined;
  readonly batch: boolean;
  /** The number of messages that want a response. */
  readonly requests: number;
  /** For errors about the whole: the id of a single request. */
  readonly idText: string | undefined;
}

/** The body of `initialize` names the version of the client; its headers may be those of a former session. */
export const beginsSession = ({ first }: Post): boolean =>
  first?.method === 'initialize' && first.kind === 'request';

const maxBatch = 256;

const faults: Readonly<Record<Fault, string>> = {
  not_json: 'invalid request: not an object',
  not_message: 'invalid request: not a JSON-RPC 2.0 message',
  ambiguous: 'invalid request: a member is repeated',
};

/** A larger body is read in pieces of so many bytes, so that others have their turn. */
const pieceBytes = 262_144;
/** Escapes cost more than anything else that is done to a piece. */
const escapedBytes = 65_536;
const turns = new YieldQueue();

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
  await turns.next();
  checkText(body);
  // White space says nothing, and the walk and the server would have to pass it.
  const check = new JsonCheck(body, limits, true);
  let state = check.run(pieceBytes);
  while (state === 'more') {
    await turns.next();
    state = check.run(pieceBytes);
  }
  verify(state, body, limits);
  const { compacted } = check;
  const outline = new Outline(compacted, { watched: clientMembers, maxMessages: maxBatch });
  do await turns.next();
  while (!outline.run(pieceBytes));
  await turns.next();
  const text = outline.hasSeparators ? await escaped(compacted) : compacted.toString();
  // The gateway judges what stands at the places, and the server reads the text.
  if (text.length !== outline.length) throw new Error('the spans of a message do not match its text');
  await turns.next();
  return largePost(text, outline);
}

/** The text with its separators escaped. */
async function escaped(bytes: Buffer): Promise<string> {
  const parts: string[] = [];
  let end = 0;
  for (let at = 0; at < bytes.length; at = end) {
    end = Math.min(bytes.length, at + escapedBytes);
    // Between two characters.
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
    parts.push(oneLine(bytes.toString('utf8', at, end)));
    await turns.next();
  }
  return parts.join('');
}

function largePost(text: string, { isBatch, messages }: Outline): Post {
  const read = ({ start, end, members }: Span): Envelope =>
    accepted(envelopeOf(isBatch ? text.slice(start, end) : text, members));
  if (!isBatch) return single(read(messages[0]!));
  if (messages.length > maxBatch) throw tooMany();
  return batch(messages.map(read));
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

function cutUp(text: string): Post {
  const at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== 0x5b) return single(message(text));
  const messages: Envelope[] = [];
  const elements = new Elements(text, at);
  while (elements.next()) {
    if (messages.length === maxBatch) throw tooMany();
    messages.push(message(text.slice(elements.start, elements.end)));
  }
  return batch(messages);
}

function batch(messages: readonly Envelope[]): Post {
  if (messages.length === 0) throw invalid('invalid request: an empty batch');
  const requests = messages.filter((one) => one.kind === 'request');
  // "The request ID MUST NOT have been previously used by the requestor within the same session" (2025-03-26).
  if (new Set(requests.map(({ id }) => id)).size < requests.length)
    throw invalid('invalid request: two requests of a batch have the same id');
  return {
    messages,
    first: messages.find((one) => one.method === 'initialize') ?? messages[0],
    batch: true,
    requests: requests.length,
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

const message = (text: string): Envelope => accepted(readEnvelope(text));

function accepted(read: Envelope | Fault): Envelope {
  if (typeof read === 'string') throw invalid(faults[read]);
  return read;
}

const tooMany = (): GatewayError => invalid(`invalid request: more than ${maxBatch} messages in a batch`);

function invalid(message: string): GatewayError {
  return new GatewayError('mcp_invalid_request', { message });
}

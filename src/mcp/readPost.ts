import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { readEnvelope, type Envelope, type Fault } from './json/envelope.ts';
import { Elements, skipSpace } from './json/scan.ts';

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

/** @throws GatewayError mcp_parse_error, mcp_invalid_request */
export function readPost(body: Buffer): Post {
  if (!isUtf8(body)) throw new GatewayError('mcp_parse_error', { message: 'parse error: not UTF-8' });
  let text = body.toString('utf8');
  try {
    JSON.parse(text);
  } catch {
    throw new GatewayError('mcp_parse_error');
  }
  // A message is one line on stdio. In JSON text a line break can only be white space.
  if (text.includes('\n') || text.includes('\r')) text = text.replaceAll(/[\r\n]/g, ' ');
  // These can stand only in strings. Some readers of lines, Node's readline among them, end a line there: a message
  // within a string would be one of its own to such a server, past every rule.
  if (text.length !== body.length) text = text.replaceAll(/[\u0085\u2028\u2029]/g, escaped);
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

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

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

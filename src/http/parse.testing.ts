import { COMPLETE, INCOMPLETE, parseRequest, parseResponse, refusal, type HeadLimits } from './parse.ts';
import { Head } from './head.ts';

export const limits: HeadLimits = {
  maxHeadBytes: 8_192,
  maxUriBytes: 2_048,
  maxMethodBytes: 32,
  maxHeaderNameBytes: 256,
};

export type Parser = typeof parseRequest;

/** `text` as the bytes of a connection: one byte a character. */
export const wire = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The result of the parser for `text`: the head, `more` if it wants more bytes, or the code of the refusal. */
export function parse(
  parser: Parser,
  text: string,
  use: HeadLimits = limits,
  maxHeaders = 100,
): Head | string {
  const bytes = wire(text);
  const head = new Head(maxHeaders);
  const result = parser(bytes, 0, bytes.length, head, use);
  if (result === INCOMPLETE) return 'more';
  if (result !== COMPLETE) return refusal(result);
  head.text = bytes.toString('latin1', 0, head.length);
  return head;
}

/** The head of a request that must be accepted. @throws Error with the refusal */
export function request(text: string): Head {
  return accepted(parse(parseRequest, text), text);
}

/** The head of an answer that must be accepted. @throws Error with the refusal */
export function response(text: string): Head {
  return accepted(parse(parseResponse, text), text);
}

function accepted(result: Head | string, text: string): Head {
  if (typeof result === 'string') throw new Error(`${result}: ${JSON.stringify(text)}`);
  return result;
}

/** The refusal of a request: a code of the catalogue, `more`, or `accepted`. */
export function refused(text: string, use: HeadLimits = limits, maxHeaders = 100): string {
  const result = parse(parseRequest, text, use, maxHeaders);
  return typeof result === 'string' ? result : 'accepted';
}

/** The same for an answer. */
export function refusedResponse(text: string): string {
  const result = parse(parseResponse, text);
  return typeof result === 'string' ? result : 'accepted';
}

/** Everything a head says, for comparison. */
export const summary = (head: Head): unknown => ({
  method: head.method,
  target: head.target,
  status: head.status,
  http10: head.http10,
  length: head.length,
  contentLength: head.contentLength,
  chunked: head.chunked,
  close: head.close,
  keepAlive: head.keepAlive,
  upgrade: head.upgrade,
  expectContinue: head.expectContinue,
  host: head.host,
  connectionNames: head.connectionNames,
  lines: head.lines(),
});

import { COMPLETE, INCOMPLETE, parseRequest, refusal, type Head, type HeadLimits } from '../../http/index.ts';
import type { Refusal } from '../http1/receive.ts';

const CRLF = 0x0d0a;

/** The text of a request, for as long as it is read. */
const scratch = Buffer.allocUnsafeSlow(65_536);

/** Reads the text that a request of HTTP/2 stands for into `head`. @returns what is wrong with it */
export function readHead(text: string, head: Head, limits: HeadLimits): Refusal | undefined {
  const bytes = text.length > scratch.length ? Buffer.allocUnsafe(text.length) : scratch;
  const length = bytes.write(text, 0, 'latin1');
  const result = parseRequest(bytes, 0, length, head, limits);
  if (result === COMPLETE && head.length === length) {
    head.text = text;
    return undefined;
  }
  return {
    code: result === COMPLETE || result === INCOMPLETE ? 'bad_request' : refusal(result),
    detail: head.problem,
  };
}

/** A part of a body as a chunk of HTTP/1.1. */
export function asChunk(bytes: Buffer): Buffer {
  const size = bytes.length.toString(16);
  const start = size.length + 2;
  const framed = Buffer.allocUnsafe(start + bytes.length + 2);
  framed.write(size, 0, 'latin1');
  framed.writeUInt16BE(CRLF, size.length);
  bytes.copy(framed, start);
  framed.writeUInt16BE(CRLF, start + bytes.length);
  return framed;
}

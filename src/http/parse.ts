import type { ErrorCode } from '../errors.ts';
import { KIND, fieldKind } from './fields.ts';
import { SPAN, type Head } from './head.ts';
import { TARGET, TOKEN, VALUE } from './octets.ts';

/** Sizes in bytes. */
export interface HeadLimits {
  readonly maxHeadBytes: number;
  readonly maxUriBytes: number;
  readonly maxMethodBytes: number;
  /** Most bytes of a field name, in requests and in answers. */
  readonly maxHeaderNameBytes: number;
}

/** The head is complete and sound. */
export const COMPLETE = 1;
/** More bytes are needed. */
export const INCOMPLETE = 0;

/** The meaning of a negative result, by its absolute value. */
const refusals = [
  'bad_request',
  'bad_request',
  'bad_host',
  'bad_framing',
  'head_too_large',
  'uri_too_long',
  'version_unsupported',
  'not_implemented',
  'expectation_failed',
] as const satisfies readonly ErrorCode[];

/** Code of the catalogue for a negative result of a parse. */
export const refusal = (result: number): ErrorCode => refusals[-result] ?? 'bad_request';

const BAD = -1;
const BAD_HOST = -2;
const BAD_FRAMING = -3;
const TOO_LARGE = -4;
const URI_TOO_LONG = -5;
const VERSION = -6;
const NOT_IMPLEMENTED = -7;
const EXPECTATION = -8;

const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;
const COLON = 58;
const DEL = 127;

function refuse(head: Head, result: number, problem: string): number {
  head.problem = problem;
  return result;
}

/**
 * Reads a request head (RFC 9112 §3, §5) from `bytes[start..end)` into `head`, strictly: where the RFC lets a
 * recipient be lenient or refuse, it refuses. Offsets in `head` count from `start`.
 *
 * @returns COMPLETE, INCOMPLETE, or a negative number for `refusal`
 */
export function parseRequest(
  bytes: Buffer,
  start: number,
  end: number,
  head: Head,
  limits: HeadLimits,
): number {
  reset(head);
  let p = start;
  while (p < end && TOKEN[bytes[p] as number] !== 0) p++;
  // RFC 9112 §3: a method longer than any that is implemented gets 501.
  if (p - start > limits.maxMethodBytes) return refuse(head, NOT_IMPLEMENTED, 'method too long');
  if (p >= end) return unfinished(head, start, end, limits);
  if (bytes[p] !== SPACE || p === start) return refuse(head, BAD, 'malformed method');
  head.methodEnd = p - start;
  p++;
  const target = p;
  while (p < end && TARGET[bytes[p] as number] === 1) p++;
  if (p - target > limits.maxUriBytes) return refuse(head, URI_TOO_LONG, 'request target too long');
  if (p >= end) return unfinished(head, start, end, limits);
  if (bytes[p] !== SPACE || p === target) return refuse(head, BAD, 'malformed request target');
  head.targetStart = target - start;
  head.targetEnd = p - start;
  p++;
  if (end - p < 10) return malformedTail(bytes, p, end) ? refuse(head, BAD, 'malformed version') : INCOMPLETE;
  const version = httpVersion(bytes, p);
  if (version < 0) return refuse(head, BAD, 'malformed version');
  if (bytes[p + 8] !== CR || bytes[p + 9] !== LF) return refuse(head, BAD, 'malformed request line');
  if (version !== 10 && version !== 11) return refuse(head, VERSION, 'unknown version');
  head.http10 = version === 10;
  head.lineEnd = p + 10 - start;
  const result = parseFields(bytes, start, p + 10, end, head, limits);
  return result === COMPLETE ? checkRequest(bytes, start, head) : result;
}

/**
 * Reads a response head (RFC 9112 §4, §5). Same contract as `parseRequest`; every refusal is the backend's fault.
 */
export function parseResponse(
  bytes: Buffer,
  start: number,
  end: number,
  head: Head,
  limits: HeadLimits,
): number {
  reset(head);
  let p = start;
  if (end - p < 13) {
    // The parser does not wait for the rest of a text that does not begin like an answer.
    for (let i = 0; p + i < end && i < 7; i++)
      if (bytes[p + i] !== STATUS_PREFIX[i]) return refuse(head, BAD, 'malformed status line');
    return INCOMPLETE;
  }
  const version = httpVersion(bytes, p);
  if ((version !== 10 && version !== 11) || bytes[p + 8] !== SPACE)
    return refuse(head, BAD, 'malformed status line');
  let status = 0;
  for (let i = 9; i < 12; i++) {
    const digit = (bytes[p + i] as number) - 48;
    if (digit < 0 || digit > 9) return refuse(head, BAD, 'malformed status code');
    status = status * 10 + digit;
  }
  if (status < 100 || status > 599) return refuse(head, BAD, 'status code out of range');
  p += 12;
  // The reason phrase is optional, and so, for some servers, is the space before it.
  if (bytes[p] !== SPACE && bytes[p] !== CR) return refuse(head, BAD, 'malformed status line');
  while (p < end && VALUE[bytes[p] as number] === 1) p++;
  if (p + 1 >= end) return unfinished(head, start, end, limits);
  if (bytes[p] !== CR || bytes[p + 1] !== LF) return refuse(head, BAD, 'malformed reason phrase');
  head.http10 = version === 10;
  head.status = status;
  head.lineEnd = p + 2 - start;
  const result = parseFields(bytes, start, p + 2, end, head, limits);
  if (result !== COMPLETE) return result;
  if (head.chunked && head.contentLength >= 0)
    return refuse(head, BAD_FRAMING, 'both Transfer-Encoding and Content-Length');
  if (head.chunked && head.http10) return refuse(head, BAD_FRAMING, 'Transfer-Encoding in HTTP/1.0');
  // After these a reader may take the connection for finished, or the final answer for the next one.
  if (status < 200 && (head.http10 || head.close))
    return refuse(head, BAD_FRAMING, 'an interim answer that ends the connection');
  return COMPLETE;
}

function reset(head: Head): void {
  head.count = 0;
  head.status = 0;
  head.contentLength = -1;
  head.chunked = head.close = head.keepAlive = head.upgrade = head.expectContinue = false;
  head.host = -1;
  head.seen = 0;
  head.connectionNames = undefined;
  head.problem = '';
}

function unfinished(head: Head, start: number, end: number, limits: HeadLimits): number {
  return end - start > limits.maxHeadBytes ? refuse(head, TOO_LARGE, 'head too large') : INCOMPLETE;
}

const VERSION_PREFIX = Buffer.from('HTTP/');
const STATUS_PREFIX = Buffer.from('HTTP/1.');

/** 10 for HTTP/1.0, 11 for HTTP/1.1, other positive numbers for other versions, -1 for no version at all. */
function httpVersion(bytes: Buffer, p: number): number {
  for (let i = 0; i < 5; i++) if (bytes[p + i] !== VERSION_PREFIX[i]) return -1;
  const major = (bytes[p + 5] as number) - 48;
  const minor = (bytes[p + 7] as number) - 48;
  if (bytes[p + 6] !== 46 || major < 0 || major > 9 || minor < 0 || minor > 9) return -1;
  return major * 10 + minor;
}

/** A line feed where a version should still be growing: no more bytes can mend it (HTTP/0.9, bare LF). */
function malformedTail(bytes: Buffer, p: number, end: number): boolean {
  const at = bytes.indexOf(LF, p);
  return at !== -1 && at < end;
}

function parseFields(
  bytes: Buffer,
  start: number,
  from: number,
  end: number,
  head: Head,
  limits: HeadLimits,
): number {
  const { spans, hashes, kinds } = head;
  const room = hashes.length;
  let p = from;
  let n = 0;
  for (;;) {
    if (p + 1 >= end)
      return p < end && bytes[p] === LF ? refuse(head, BAD, 'bare LF') : unfinished(head, start, end, limits);
    if (bytes[p] === CR) {
      if (bytes[p + 1] !== LF) return refuse(head, BAD, 'bare CR');
      head.count = n;
      head.length = p + 2 - start;
      return head.length > limits.maxHeadBytes ? refuse(head, TOO_LARGE, 'head too large') : COMPLETE;
    }
    const nameStart = p;
    let hash = 0;
    let code = 0;
    while (p < end && (code = TOKEN[bytes[p] as number] as number) !== 0) {
      hash = (Math.imul(hash, 33) + code) | 0;
      p++;
    }
    if (p - nameStart > limits.maxHeaderNameBytes) return refuse(head, TOO_LARGE, 'field name too long');
    if (p >= end) return unfinished(head, start, end, limits);
    // White space before the colon and folded lines (RFC 9112 §5.1, §5.2) end here too.
    if (bytes[p] !== COLON || p === nameStart) return refuse(head, BAD, 'malformed field name');
    const nameEnd = p;
    p++;
    while (p < end && ((code = bytes[p] as number) === SPACE || code === TAB)) p++;
    const valueStart = p;
    // The same as the table VALUE, without a look-up: nearly all bytes of a head are in values.
    while (p < end && ((code = bytes[p] as number) >= SPACE ? code !== DEL : code === TAB)) p++;
    if (p >= end) return unfinished(head, start, end, limits);
    if (bytes[p] !== CR) return refuse(head, BAD, 'forbidden byte in a field value');
    if (p + 1 >= end) return unfinished(head, start, end, limits);
    if (bytes[p + 1] !== LF) return refuse(head, BAD, 'bare CR');
    let valueEnd = p;
    while (valueEnd > valueStart && ((code = bytes[valueEnd - 1] as number) === SPACE || code === TAB))
      valueEnd--;
    p += 2;
    if (n === room) return refuse(head, TOO_LARGE, 'too many header fields');
    const kind = fieldKind(bytes, nameStart, nameEnd, hash);
    const at = n * SPAN;
    spans[at] = nameStart - start;
    spans[at + 1] = nameEnd - start;
    spans[at + 2] = valueStart - start;
    spans[at + 3] = valueEnd - start;
    hashes[n] = hash;
    kinds[n] = kind;
    if (kind !== KIND.other) {
      const result = noteField(bytes, kind, valueStart, valueEnd, n, head);
      if (result < 0) return result;
    }
    n++;
  }
}

/** Notes a field that the wire itself needs. */
function noteField(bytes: Buffer, kind: number, from: number, to: number, index: number, head: Head): number {
  const repeated = (head.seen & (1 << kind)) !== 0;
  head.seen |= 1 << kind;
  switch (kind) {
    case KIND.contentLength:
      // A repeated length, even an equal one, is where two readers begin to differ (RFC 9112 §6.3).
      return repeated
        ? refuse(head, BAD_FRAMING, 'Content-Length repeated')
        : noteLength(bytes, from, to, head);
    case KIND.transferEncoding:
      return repeated
        ? refuse(head, BAD_FRAMING, 'Transfer-Encoding repeated')
        : noteCoding(bytes, from, to, head);
    case KIND.connection:
      return noteConnection(bytes, from, to, head);
    case KIND.host:
      if (repeated) return refuse(head, BAD_HOST, 'Host repeated');
      head.host = index;
      return COMPLETE;
    case KIND.expect:
      if (repeated || bytes.toString('latin1', from, to).toLowerCase() !== '100-continue') {
        return refuse(head, EXPECTATION, 'unknown expectation');
      }
      // RFC 9110 §10.1.1: ignored in a 1.0 message, whose sender could not read a 100.
      head.expectContinue = !head.http10;
      return COMPLETE;
    case KIND.lookalike:
      return refuse(head, BAD_FRAMING, 'a field name that reads like a framing field');
    default:
      return COMPLETE;
  }
}

function noteLength(bytes: Buffer, from: number, to: number, head: Head): number {
  // 15 digits stay exact in a double; no body is that long.
  if (to === from || to - from > 15) return refuse(head, BAD_FRAMING, 'malformed Content-Length');
  let length = 0;
  for (let i = from; i < to; i++) {
    const digit = (bytes[i] as number) - 48;
    if (digit < 0 || digit > 9) return refuse(head, BAD_FRAMING, 'malformed Content-Length');
    length = length * 10 + digit;
  }
  head.contentLength = length;
  return COMPLETE;
}

const CHUNKED = 'chunked';

function noteCoding(bytes: Buffer, from: number, to: number, head: Head): number {
  // White space, but not to everybody: to llhttp a tab behind `chunked` makes it another coding.
  if (tabAround(bytes, from, to)) return refuse(head, BAD_FRAMING, 'a tab around Transfer-Encoding');
  if (isText(bytes, from, to, CHUNKED)) {
    head.chunked = true;
    return COMPLETE;
  }
  const coding = bytes.toString('latin1', from, to).toLowerCase();
  // A well-formed list with another coding is merely unknown (RFC 9112 §6.1); all else is an attempt at confusion.
  return /^(?!chunked[ ,])[a-z0-9-]+ *, *chunked$/.test(coding)
    ? refuse(head, NOT_IMPLEMENTED, 'unknown transfer coding')
    : refuse(head, BAD_FRAMING, 'malformed Transfer-Encoding');
}

function tabAround(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from - 1; bytes[i] !== COLON; i--) if (bytes[i] === TAB) return true;
  for (let i = to; bytes[i] !== CR; i++) if (bytes[i] === TAB) return true;
  return false;
}

/**
 * Fields that Connection may not name: dropping them would change what the message means, or hide from the backend
 * what an earlier proxy noted about the client.
 */
const kept = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'trailer',
  'authorization',
  'cookie',
  'set-cookie',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
]);

const CLOSE = 'close';
const KEEP_ALIVE = 'keep-alive';

function noteConnection(bytes: Buffer, from: number, to: number, head: Head): number {
  // The two values nearly everybody sends.
  if (noteOption(bytes, from, to, head)) return COMPLETE;
  for (const part of bytes.toString('latin1', from, to).toLowerCase().split(',')) {
    // Not trim(): it takes the no-break space (0xA0) for white space, too.
    const name = part.replaceAll(/^[ \t]+|[ \t]+$/g, '');
    if (name === '') continue;
    if (name === CLOSE) head.close = true;
    else if (name === KEEP_ALIVE) head.keepAlive = true;
    else if (name === 'upgrade') head.upgrade = true;
    else if (kept.has(name)) return refuse(head, BAD, 'Connection names an end-to-end field');
    else if ((head.connectionNames ??= []).length < 32) head.connectionNames.push(name);
    else return refuse(head, BAD, 'Connection names too many fields');
  }
  return COMPLETE;
}

/** @returns false where the value is not just `close` or `keep-alive` */
function noteOption(bytes: Buffer, from: number, to: number, head: Head): boolean {
  if (isText(bytes, from, to, KEEP_ALIVE)) head.keepAlive = true;
  else if (isText(bytes, from, to, CLOSE)) head.close = true;
  else return false;
  return true;
}

/** Are the bytes this text (lower case), in whatever case? */
function isText(bytes: Buffer, from: number, to: number, lower: string): boolean {
  if (to - from !== lower.length) return false;
  for (let i = 0; i < lower.length; i++)
    if (TOKEN[bytes[from + i] as number] !== lower.charCodeAt(i)) return false;
  return true;
}

function checkRequest(bytes: Buffer, start: number, head: Head): number {
  if (head.chunked && head.contentLength >= 0)
    return refuse(head, BAD_FRAMING, 'both Transfer-Encoding and Content-Length');
  // RFC 9112 §6.1: a 1.0 message with Transfer-Encoding has faulty framing.
  if (head.chunked && head.http10) return refuse(head, BAD_FRAMING, 'Transfer-Encoding in HTTP/1.0');
  if (head.host === -1 && !head.http10) return refuse(head, BAD_HOST, 'Host missing');
  // CONNECT asks for a tunnel, which no route offers.
  if (head.methodEnd === 7 && bytes.toString('latin1', start, start + 7) === 'CONNECT') {
    return refuse(head, NOT_IMPLEMENTED, 'CONNECT');
  }
  return COMPLETE;
}

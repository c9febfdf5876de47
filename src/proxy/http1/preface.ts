import type { Head } from '../../http/index.ts';

/** The beginning of a connection of HTTP/2 (RFC 9113 §3.4), up to the point where HTTP/1.1 could no longer be meant. */
const PREFACE = 'PRI * HTTP/2';

/** Enough for the third word of what is no request. */
const LONGEST = 64;
const words = /^[A-Z]+ (?!HTTP\r)[A-Z]+\r\n/i;

/**
 * Is a first request line that was refused a preface of HTTP/2, sound or broken? Besides the preface itself, a line
 * counts of three words whose last two are letters alone: no request target and no version of HTTP look like that.
 * Every other malformed request line keeps its answer of HTTP/1.1.
 *
 * @param head what the parser found before it refused the line
 */
export function isPreface(bytes: Buffer, head: Head): boolean {
  if (bytes.toString('latin1', 0, PREFACE.length) === PREFACE) return true;
  if (head.problem !== 'malformed version') return false;
  return words.test(bytes.toString('latin1', head.targetStart, head.targetEnd + LONGEST));
}

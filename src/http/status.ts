import { STATUS_CODES } from 'node:http';

/** `HTTP/1.1 200 OK` and its line end. */
export function statusLine(status: number): string {
  const known = lines.get(status);
  if (known !== undefined) return known;
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  lines.set(status, line);
  return line;
}

const lines = new Map<number, string>();

/** May an answer of this status have a body (RFC 9110 §6.4.1)? */
export const hasNoBody = (status: number): boolean => status < 200 || status === 204 || status === 304;

let second = 0;
let text = '';

/** The Date field's value (RFC 9110 §5.6.7), made once a second. */
export function httpDate(now: number): string {
  const current = Math.floor(now / 1000);
  if (current !== second) {
    second = current;
    text = new Date(now).toUTCString();
  }
  return text;
}

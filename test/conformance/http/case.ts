/** The request that the backend is to get. */
export interface Wanted {
  readonly method: string;
  readonly target: string;
  /** Payload, without chunk framing. */
  readonly body: string;
  /** The host, if it is not the usual one; null for any. */
  readonly host?: string | null;
  /** Names that must not arrive. */
  readonly without?: readonly string[];
}

/**
 * The permitted reactions of a gateway to a message. `pass`: it must be answered by the backend. `refuse`: no
 * backend may get it whole. `either`: both are right.
 */
export type Want = 'pass' | 'refuse' | 'either';

/** Bytes that a client sends, and what may come of them. */
export interface RequestCase {
  readonly id: string;
  /** The place of the rule. */
  readonly rule: string;
  /** The message, a character for each byte. */
  readonly text: string;
  readonly want: Want;
  /**
   * The ways to read the bytes that are right, where they are passed on: the requests in order. Left out where any will
   * do that all readers share.
   */
  readonly readings?: readonly (readonly Wanted[])[];
  /** No request follows on this connection: the message ends it, or is never complete. */
  readonly last?: boolean;
}

/** Bytes that a backend answers with, and what may come of them. */
export interface AnswerCase {
  readonly id: string;
  readonly rule: string;
  readonly text: string;
  readonly want: Want;
  /** Method of the request that is answered; GET unless given. */
  readonly method?: string;
  /** The backend closes behind the bytes. */
  readonly closes?: boolean;
  /** Payload and status that must arrive where it is passed on. */
  readonly status?: number;
  readonly body?: string;
}

/** Fields of a stream of HTTP/2 in order, and what may come of them. */
export interface StreamCase {
  readonly id: string;
  readonly rule: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Content of its DATA frames; undefined where the head ends the stream. */
  readonly data?: readonly string[];
  readonly trailers?: readonly (readonly [name: string, value: string])[];
  readonly want: Want;
  readonly readings?: readonly (readonly Wanted[])[];
}

export const HOST = 'app.test';
export const TARGET = '/case';

/** The path of a request that was never meant to be one: it must not arrive. */
export const SMUGGLED = '/smuggled';

/** The beginning of such a request; what follows on the connection would become the value of its last field. */
export const smuggled = `GET ${SMUGGLED} HTTP/1.1\r\nHost: ${HOST}\r\nX-Ignore: `;

/** A request from its parts. @param host null for none */
export function request(
  lines: readonly string[],
  body = '',
  start = `POST ${TARGET} HTTP/1.1`,
  host: string | null = HOST,
): string {
  return message(start, [...(host === null ? [] : [`Host: ${host}`]), ...lines], body);
}

/** A message from its parts. */
export const message = (start: string, lines: readonly string[], body: string): string =>
  `${start}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

/** The one reading of one request. */
export const reads = (
  body = '',
  method = 'POST',
  target = TARGET,
  rest: Partial<Wanted> = {},
): readonly (readonly Wanted[])[] => [[{ method, target, body, ...rest }]];

/** A chunked body. */
export const chunked = (...parts: readonly string[]): string =>
  `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;

/** Bytes as hexadecimal digits, for names. */
export const hex = (code: number): string => `0x${code.toString(16).padStart(2, '0')}`;

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

const TOKEN_MARKS = "!#$%&'*+-.^_`|~";
const character = (code: number): string => String.fromCharCode(code);
export const isAlphanumeric = (code: number): boolean => /^[0-9A-Za-z]$/.test(character(code));
export const isToken = (code: number): boolean =>
  isAlphanumeric(code) || TOKEN_MARKS.includes(character(code));
export const isObsText = (code: number): boolean => code >= 0x80;

/** Bytes that the published lists of gadgets try: all that are neither letter, digit nor punctuation. */
export const allOddBytes: readonly number[] = [...range(0, 0x20), ...range(0x7f, 0xff)];
/** The controls, and of the others those that some code page or some trimming has a meaning for. */
export const oddBytes: readonly number[] = [
  ...range(0, 0x20),
  ...[0x7f, 0x80, 0x85, 0x8a, 0x8d, 0xa0, 0xad, 0xbf, 0xc0, 0xc2, 0xe2, 0xef, 0xfe, 0xff],
];
export const punctuation: readonly number[] = range(0x21, 0x7e).filter((code) => !isAlphanumeric(code));

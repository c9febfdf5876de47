import { randomBytes } from 'node:crypto';
import { ROLE, type Field } from '../hpack/field.ts';
import type { FieldSink } from '../hpack/decoder.ts';

/**
 * A request of HTTP/2 as the message of HTTP/1.1 that it stands for (RFC 9113 §8): it is turned into text and read by the
 * same strict reader as any other, so that what could not have come in over HTTP/1.1 cannot come in this way either.
 */
export interface RequestText {
  readonly text: string;
  /** The body is framed in chunks: its length is not known. */
  readonly chunked: boolean;
  /** The stream asks for a WebSocket (RFC 8441). */
  readonly webSocket: boolean;
}

/** The flaw of a request. */
export interface RequestFlaw {
  readonly problem: string;
  /** Against RFC 9113 itself, which asks for the end of the stream; otherwise it is answered like one of HTTP/1.1. */
  readonly malformed: boolean;
}

const malformed = (problem: string): RequestFlaw => ({ problem, malformed: true });
const refused = (problem: string): RequestFlaw => ({ problem, malformed: false });

/** Gathers the fields of one request at a time. */
export class RequestHead implements FieldSink {
  private flaw: string | undefined;
  private readonly pseudo: (string | undefined)[] = [];
  private host: string | undefined;
  private hosts = 0;
  private cookies = '';
  private lines = '';
  private regular = false;
  private length = false;

  /** Ready for the next request. */
  reset(): void {
    this.flaw = undefined;
    this.pseudo.fill(undefined);
    this.host = undefined;
    this.hosts = 0;
    this.cookies = '';
    this.lines = '';
    this.regular = false;
    this.length = false;
  }

  field(field: Field): void {
    const { role } = field;
    if (field.flaw !== undefined) this.flaw ??= field.flaw;
    else if (role === ROLE.regular) {
      this.regular = true;
      this.lines += field.line;
    } else if (role <= ROLE.protocol) {
      if (this.regular || this.pseudo[role] !== undefined) this.flaw ??= 'pseudo-headers in disorder';
      this.pseudo[role] = field.value;
    } else {
      this.regular = true;
      if (role === ROLE.host) {
        this.host = field.value;
        this.hosts++;
      } else if (role === ROLE.cookie)
        // Crumbs are one field in HTTP/1.1 (RFC 9113 §8.2.3).
        this.cookies = this.cookies === '' ? field.value : `${this.cookies}; ${field.value}`;
      else {
        this.length = true;
        this.lines += field.line;
      }
    }
  }

  /** @param bodyless the stream has ended with its head */
  read(bodyless: boolean): RequestText | RequestFlaw {
    const { pseudo, host, cookies } = this;
    const method = pseudo[ROLE.method];
    const path = pseudo[ROLE.path];
    const authority = pseudo[ROLE.authority] ?? host;
    const protocol = pseudo[ROLE.protocol];
    const flaw = this.flaw ?? pseudoFlaw(method, pseudo[ROLE.scheme], path, protocol);
    if (flaw !== undefined) return malformed(flaw);
    if (this.hosts > 1) return refused('host comes twice');
    if (authority === undefined || authority === '') return refused('no authority');
    if (host !== undefined && host !== authority && host.toLowerCase() !== authority.toLowerCase())
      return refused('host is not the authority');
    const webSocket = protocol === 'websocket';
    if (protocol !== undefined && !webSocket) return refused('another protocol than websocket');
    const scheme = pseudo[ROLE.scheme];
    if (scheme !== undefined && scheme !== 'https' && scheme !== 'http' && !/^https?$/i.test(scheme))
      return refused('another scheme');
    const chunked = !bodyless && !this.length && !webSocket;
    return {
      text:
        `${webSocket ? 'GET' : method} ${path ?? authority} HTTP/1.1\r\nhost: ${authority}\r\n` +
        (webSocket ? this.lines.replace(keyLines, '') : this.lines) +
        (cookies === '' ? '' : `cookie: ${cookies}\r\n`) +
        (chunked ? 'transfer-encoding: chunked\r\n' : '') +
        (webSocket ? handshake() : '') +
        '\r\n',
      chunked,
      webSocket,
    };
  }
}

/** The key is ours: over HTTP/2 there is none (RFC 8441 §5), and a second one would be none in HTTP/1.1. */
const keyLines = /^sec-websocket-key:.*\r\n/gm;

const handshake = (): string =>
  `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n`;

/** Checks the pseudo-headers, required and allowed (RFC 9113 §8.3.1, §8.5, RFC 8441 §4). */
function pseudoFlaw(
  method: string | undefined,
  scheme: string | undefined,
  path: string | undefined,
  protocol: string | undefined,
): string | undefined {
  if (method === undefined || method === '') return 'no method';
  if (protocol !== undefined && method !== 'CONNECT') return ':protocol without CONNECT';
  if (method === 'CONNECT' && protocol === undefined)
    return scheme === undefined && path === undefined ? undefined : 'CONNECT with a scheme or a path';
  if (scheme === undefined) return 'no scheme';
  if (path === undefined || path === '') return 'no path';
  // Not the absolute form: it would name another host than the authority.
  if (path.charCodeAt(0) !== 47 && !(path === '*' && method === 'OPTIONS')) return 'a path that is none';
  return undefined;
}

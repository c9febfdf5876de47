import type { GatewayError } from '../../errors.ts';
import {
  canonical,
  forwardedClient,
  forwardedHost,
  forwardedScheme,
  lastHop,
  separatorOf,
  type ClientCertificate,
  type ForwardedClient,
  type Head,
  type HeaderLine,
  type HttpRequest,
  type Networks,
} from '../../http/index.ts';
import type { TlsDetails } from '../connections/tlsDetails.ts';
import type { ReportedEnds } from '../connections/reportedEnds.ts';
import { newRequestId } from './requestIds.ts';

/** Takes the bytes of the request body. */
export interface BodyConsumer {
  /** Payload or raw framing, as asked for with `raw`. */
  readonly raw: boolean;
  take(bytes: Buffer, from: number, to: number, done: boolean): void;
  fail(error: GatewayError): void;
}

/** A request body that was read before the request is forwarded. */
export interface HeldBody {
  /** As it came, with its chunks. */
  readonly raw: Buffer;
  readonly payload: Buffer;
}

/** A client's request id is kept when it is short and plain; anything else could be an attempt on the logs. */
const saneId = /^[\w.~:+/=@-]{1,128}$/;

/** The normalised target of a request. */
export type Place = Pick<HttpRequest, 'method' | 'target' | 'path' | 'query' | 'host' | 'authority'>;

/** The client at the other end of a connection. */
export interface ClientEnd {
  readonly port: {
    /** The proxies that may state the client address; undefined if the configuration does not say. */
    readonly trustedProxies: Networks | undefined;
  };
  readonly socket: {
    readonly remotePort?: number | undefined;
    readonly localAddress?: string | undefined;
    readonly localPort?: number | undefined;
  };
  /** Absent where the connection is plain TCP. */
  readonly tls: TlsDetails | undefined;
  /** The ends that a proxy in front announced; absent if the client itself is at the other end. */
  readonly reported: ReportedEnds | undefined;
  readonly http2: boolean;
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | undefined;
}

/** A request as it came in: its head, and who sent it by which connection. */
export abstract class ReceivedRequest {
  abstract readonly connection: ClientEnd;
  readonly head: Head;
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly authority: string;
  /** The answer is complete, or never will be. */
  closed = false;
  /** The head may hold somebody else's request by now. */
  protected released = false;
  /** The fields for the time after the exchange, where something of it is still to be judged. */
  private keptLines: readonly HeaderLine[] | undefined;
  private requestId: string | undefined;
  private madeId = false;
  /** The client as a proxy in front names it; undefined where no proxies are trusted, or this peer is none. */
  readonly forwarded: ForwardedClient | undefined;
  private readonly forwardedScheme: 'http' | 'https' | undefined;

  constructor(connection: ClientEnd, head: Head, { method, target, path, query, host, authority }: Place) {
    this.head = head;
    this.method = method;
    this.target = target;
    this.path = path;
    this.query = query;
    this.host = host;
    this.authority = authority;
    const { port, remoteAddress } = connection;
    const { trustedProxies } = port;
    if (trustedProxies?.has(remoteAddress) !== true) return;
    this.forwarded = forwardedClient(head.get('x-forwarded-for') ?? '', remoteAddress, trustedProxies);
    this.forwardedScheme =
      forwardedScheme(head.get('x-forwarded-proto')) ?? forwardedScheme(lastHop(head.get('forwarded')).proto);
  }

  get scheme(): 'http' | 'https' {
    return this.forwardedScheme ?? (this.connection.tls === undefined ? 'http' : 'https');
  }

  get shownScheme(): 'http' | 'https' {
    if (this.connection.port.trustedProxies !== undefined) return this.scheme;
    // Every client can write the header, so it may only raise the scheme: an https address leads to nowhere less
    // safe.
    return this.scheme === 'https' || this.header('x-forwarded-proto') === 'https' ? 'https' : 'http';
  }

  get shownAuthority(): string {
    // Every client can write the headers, and an address of its choice would lead other readers astray.
    if (this.forwarded === undefined) return this.authority;
    return (
      forwardedHost(this.header('x-forwarded-host')) ??
      forwardedHost(lastHop(this.header('forwarded')).host) ??
      this.authority
    );
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.connection.clientCertificate;
  }

  get serverName(): string | undefined {
    return this.connection.tls?.serverName;
  }

  get version(): string {
    const { http2, reported } = this.connection;
    if (reported?.version !== undefined) return reported.version;
    if (http2) return 'HTTP/2.0';
    return this.head.http10 ? 'HTTP/1.0' : 'HTTP/1.1';
  }

  get remoteAddress(): string {
    return this.forwarded?.address ?? this.connection.remoteAddress;
  }

  get remotePort(): number {
    const { forwarded } = this;
    if (forwarded !== undefined && forwarded.address !== this.connection.remoteAddress) return forwarded.port;
    return this.connectionPort;
  }

  /** The port of the client's end of the connection. */
  get connectionPort(): number {
    const { reported, socket } = this.connection;
    return reported?.port ?? socket.remotePort ?? 0;
  }

  get localAddress(): string {
    const { reported, socket } = this.connection;
    if (reported !== undefined) return reported.localAddress;
    // A port that listens for both families has IPv4 addresses in the form of IPv6.
    return socket.localAddress === undefined ? '' : canonical(socket.localAddress);
  }

  get localPort(): number {
    const { reported, socket } = this.connection;
    return reported?.localPort ?? socket.localPort ?? 0;
  }

  get peer(): HttpRequest['peer'] {
    const { reported, remoteAddress } = this.connection;
    if (reported?.peer !== undefined || this.forwarded === undefined) return reported?.peer;
    return { address: remoteAddress, port: this.connectionPort };
  }

  get id(): string {
    if (this.requestId === undefined) {
      const given = this.released ? undefined : this.head.get('x-request-id');
      this.madeId = given === undefined || !saneId.test(given);
      this.requestId = this.madeId ? newRequestId() : given!;
    }
    return this.requestId;
  }

  /** Has the gateway made the id? Otherwise the client gave it. */
  get hasMadeId(): boolean {
    // The first look at the id decides.
    void this.id;
    return this.madeId;
  }

  /**
   * Is the target in absolute form? Then it names the host, and whatever Host says is not what the backend gets
   * (RFC 9112 §3.2.2): no rule may be judged by it.
   */
  get targetNamesHost(): boolean {
    const { text, targetStart } = this.head;
    return text.charCodeAt(targetStart) !== 47 && this.target !== '*';
  }

  /** Keeps the fields for the time after the exchange, when the head is gone. */
  protected keepLines(): void {
    this.keptLines ??= this.headerLines();
  }

  header(name: string): string | undefined {
    const key = name.toLowerCase();
    // The head is on loan: after the end it may hold somebody else's request.
    if (this.closed) return this.keptHeader(key);
    return key === 'host' && this.targetNamesHost ? this.authority : this.head.get(key);
  }

  private keptHeader(key: string): string | undefined {
    const values = this.keptLines?.flatMap(([name, value]) => (name === key ? [value] : [])) ?? [];
    return values.length === 0 ? undefined : values.join(separatorOf(key));
  }

  /** @param prefix in lower case; given: lines of other names may be left out */
  headerLines(prefix = ''): HeaderLine[] {
    if (this.closed) return [...(this.keptLines ?? [])];
    if (prefix !== '' && !this.head.hasPrefix(prefix)) return [];
    const lines = this.head.lines();
    if (!this.targetNamesHost) return lines;
    return [['host', this.authority], ...lines.filter(([name]) => name !== 'host')];
  }
}

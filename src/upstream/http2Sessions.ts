import { connect as connectHttp2, type ClientHttp2Session, type Settings } from 'node:http2';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { defaults, type UpstreamSettings } from '../model/index.ts';
import type { Address } from './open.ts';
import type { TlsMaterial } from './tls.ts';

/** Requests at a time on one connection, where the backend allows more. */
const STREAMS_MOST = 100;

/**
 * A field that a client repeats crosses as it came, as it does to a backend of HTTP/1.1. Node before 24.15 does not know
 * the option and refuses some repeated fields, such as User-Agent.
 */
const repeatedFields = { strictSingleValueFields: false };

/** An HTTP/2 connection to a backend. */
export interface SharedSession {
  readonly session: ClientHttp2Session;
  readonly socket: Socket;
  /** Requests under way or about to be. */
  streams: number;
  /** No further request takes it: it ends with its last one. */
  left: boolean;
  connected: boolean;
  /** It brought no byte while a request waited for its answer: it may be dead. */
  silent: boolean;
  /** The waiters for its completion. */
  readonly waiting: Set<SessionWaiter>;
  /** Set when the abilities of the backend are known. */
  settled: boolean;
  readonly settling: Set<SessionWaiter>;
  idleSince: number;
}

export interface SessionWaiter {
  ready(): void;
  failed(error: Error): void;
}

/** The connections of HTTP/2 to one address; a further one is opened where the others are full. */
export class Http2Sessions {
  private readonly address: Address;
  private readonly tls: TlsMaterial | undefined;
  private readonly keepAlive: () => UpstreamSettings['keepAlive'];
  private readonly open = new Set<SharedSession>();
  /** Requests at a time on one connection, as the backend said last. A new connection goes by it at first. */
  private most = STREAMS_MOST;

  constructor(
    address: Address,
    tls: TlsMaterial | undefined,
    keepAlive: () => UpstreamSettings['keepAlive'] = () => defaults.upstream.keepAlive,
  ) {
    this.address = address;
    this.tls = tls;
    this.keepAlive = keepAlive;
  }

  get scheme(): 'http' | 'https' {
    return this.tls === undefined ? 'http' : 'https';
  }

  /** Takes a place on a connection with room, connected or connecting; `give` follows. */
  take(): SharedSession {
    const shared = this.withRoom();
    shared.streams++;
    return shared;
  }

  /** Opens a connection for one request, which ends with that request. */
  takeAlone(): SharedSession {
    const shared = this.connect();
    shared.left = true;
    shared.streams++;
    return shared;
  }

  /** The request that took the place has ended, or never began. */
  give(shared: SharedSession): void {
    shared.streams--;
    shared.idleSince = Date.now();
    // A request that gave up before the connection stood was mostly too late: the next one opens another connection.
    if (!shared.connected) {
      shared.left = true;
      this.open.delete(shared);
    }
    closeIfDone(shared);
  }

  /**
   * Is there a place on a connection that stands?
   * @param held has a place that its holder gives back before
   */
  hasRoom(held?: SharedSession): boolean {
    for (const shared of this.open)
      if (shared.connected && this.takesMore(shared, shared === held ? shared.streams - 1 : shared.streams))
        return true;
    return false;
  }

  /** A connection that stands comes first: a request on one that is being opened has to wait. */
  private withRoom(): SharedSession {
    let opening: SharedSession | undefined;
    for (const shared of this.open) {
      if (!this.takesMore(shared, shared.streams)) continue;
      if (shared.connected) return shared;
      opening ??= shared;
    }
    if (opening !== undefined) return opening;
    const shared = this.connect();
    this.open.add(shared);
    return shared;
  }

  /**
   * A request was given up, and nothing has come since it was sent. A connection that was cut says nothing by itself, so
   * the next request opens another one. The requests under way may still get their answers.
   */
  suspect(shared: SharedSession): void {
    shared.silent = true;
    shared.left = true;
    this.open.delete(shared);
  }

  /** Closes what has carried nothing for so long. */
  sweep(now: number, idleMs: number): void {
    for (const shared of this.open)
      if (shared.streams === 0 && now - shared.idleSince >= idleMs) shared.session.close();
  }

  /** No further request on those that are open: they end with the requests under way. */
  retire(): void {
    for (const shared of this.open) {
      shared.left = true;
      closeIfDone(shared);
    }
    this.open.clear();
  }

  destroy(): void {
    for (const { session } of this.open) session.destroy();
    this.open.clear();
  }

  /** Does it take another request beside so many? */
  private takesMore({ session, settled }: SharedSession, streams: number): boolean {
    const said = settled ? session.remoteSettings?.maxConcurrentStreams : undefined;
    const most = Math.min(STREAMS_MOST, said ?? this.most);
    return !session.closed && !session.destroyed && streams < most;
  }

  private connect(): SharedSession {
    const { host, port } = this.address;
    const socket = this.socket();
    socket.once('connect', () => {
      const { enabled, timeMs, intervalMs, retries } = this.keepAlive();
      if (enabled) socket.setKeepAlive(true, timeMs, intervalMs, retries);
    });
    const session = connectHttp2(`${this.scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
      peerMaxConcurrentStreams: STREAMS_MOST,
      maxSessionMemory: 64,
      ...repeatedFields,
    });
    // The session itself ends here: one whose socket alone is destroyed in this event aborts the process (node:http2).
    if (socket instanceof TLSSocket)
      socket.prependOnceListener('secureConnect', () => {
        if (socket.alpnProtocol !== 'h2') session.destroy(new Error('the backend does not speak HTTP/2'));
      });
    const waiting = new Set<SessionWaiter>();
    const settling = new Set<SessionWaiter>();
    const shared: SharedSession = {
      session,
      socket,
      streams: 0,
      left: false,
      connected: false,
      silent: false,
      waiting,
      settled: false,
      settling,
      idleSince: Date.now(),
    };
    session.on('connect', () => {
      // Node says so of a destroyed session as well.
      if (session.destroyed) return;
      shared.connected = true;
      for (const waiter of waiting) waiter.ready();
      waiting.clear();
    });
    session.on('remoteSettings', ({ maxConcurrentStreams = STREAMS_MOST }: Settings) => {
      // With a limit of 0, every request would open a connection of its own.
      this.most = Math.max(1, Math.min(STREAMS_MOST, maxConcurrentStreams));
      shared.settled = true;
      for (const waiter of settling) waiter.ready();
      settling.clear();
    });
    // The user of a stream on it hears of the end by the stream.
    const failed = (error: Error): void => {
      for (const waiter of [...waiting, ...settling]) waiter.failed(error);
      waiting.clear();
      settling.clear();
    };
    session.on('error', failed);
    session.on('close', () => failed(new Error('closed')));
    session.on('goaway', () => this.open.delete(shared));
    session.on('close', () => this.open.delete(shared));
    return shared;
  }

  private socket(): Socket {
    const { host, port } = this.address;
    if (this.tls === undefined) return connectPlain({ host, port, noDelay: true });
    const options = { ...this.tls.options(), ALPNProtocols: ['h2'] };
    return connectTls({ host, port, ...options }).setNoDelay(true);
  }
}

/**
 * Closing sends GOAWAY, before requests that were begun just then: servers refuse those, and a session that is closed
 * takes no request that has its place.
 */
function closeIfDone({ session, socket, streams, left, connected, silent }: SharedSession): void {
  if (!left || streams > 0) return;
  // A backend that is gone would never answer the end of the connection.
  if (silent) session.destroy();
  else if (connected) session.close();
  // A session waits for its connection before it closes.
  else socket.destroy();
}

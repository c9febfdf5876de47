import type { Socket } from 'node:net';

export interface AdmissionLimits {
  /** Connections of one address, whatever they are. */
  readonly perAddress: number;
  /** Connections that nobody has proven to be a proxy's: of one address, and of all. */
  readonly waitingPerAddress: number;
  readonly waiting: number;
}

export interface AdmissionOptions {
  readonly limits: AdmissionLimits;
  /** Milliseconds for a connection to prove whose it is; nothing that is sent on it makes it longer. */
  readonly waitMs: number;
  /** A connection was ended, and why. */
  readonly onEnd: (why: 'crowded' | 'late') => void;
}

/** The identity of a connection, in all forms that Node gives a socket. */
export interface SocketAddresses {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

interface Waiting {
  readonly address: string;
  readonly socket: Socket;
  timer: NodeJS.Timeout | undefined;
  /** Tokens that came on it and that somebody is looking at: it is not ended meanwhile. */
  asking: number;
  isLate: boolean;
}

/**
 * Keeps the port open for proxies while others open connections to it: one that is not proven to be a proxy's costs
 * memory before anybody knows whose it is. Such connections have a time and a number; where there are too many, the
 * address that has most of them loses its oldest.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  /** By their ends, the oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #byAddress = new Map<string, { all: number; readonly waiting: Set<string> }>();
  /** Streams of proxies on each connection. */
  readonly #admitted = new Map<string, number>();
  readonly #sockets = new Map<string, Socket>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** A connection has come in. */
  take(socket: Socket): void {
    const address = addressOf(socket);
    const key = keyOf(socket);
    const { perAddress, waitingPerAddress, waiting } = this.#options.limits;
    const of = this.#byAddress.get(address) ?? { all: 0, waiting: new Set<string>() };
    if (of.all >= perAddress) {
      this.#options.onEnd('crowded');
      socket.destroy();
      return;
    }
    this.#byAddress.set(address, of);
    of.all++;
    this.#sockets.set(key, socket);
    socket.once('close', () => this.#forget(key, address));
    this.#wait(key, socket);
    if (of.waiting.size > waitingPerAddress) this.#endOldest(of.waiting);
    if (this.#waiting.size > waiting) this.#endOldest(this.#mostWaiting());
  }

  /** A token that came on it is being looked at. */
  asks(ends: SocketAddresses): void {
    const waiting = this.#waiting.get(keyOf(ends));
    if (waiting !== undefined) waiting.asking++;
  }

  /** It was looked at. */
  answered(ends: SocketAddresses): void {
    const waiting = this.#waiting.get(keyOf(ends));
    if (waiting === undefined) return;
    waiting.asking--;
    if (waiting.isLate && waiting.asking === 0) this.#end(waiting, 'late');
  }

  /** A proxy has proven that the connection is its own. */
  admit(ends: SocketAddresses): void {
    const key = keyOf(ends);
    this.#admitted.set(key, (this.#admitted.get(key) ?? 0) + 1);
    this.#stopWaiting(key);
  }

  /** A stream of it is over; without any it has to prove again whose it is. */
  leave(ends: SocketAddresses): void {
    const key = keyOf(ends);
    const streams = (this.#admitted.get(key) ?? 1) - 1;
    if (streams > 0) {
      this.#admitted.set(key, streams);
      return;
    }
    this.#admitted.delete(key);
    const socket = this.#sockets.get(key);
    if (socket !== undefined) this.#wait(key, socket);
  }

  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
  }

  #wait(key: string, socket: Socket): void {
    const address = addressOf(socket);
    const waiting: Waiting = { address, socket, timer: undefined, asking: 0, isLate: false };
    waiting.timer = setTimeout(() => {
      waiting.isLate = true;
      if (waiting.asking === 0) this.#end(waiting, 'late');
    }, this.#options.waitMs).unref();
    this.#waiting.set(key, waiting);
    this.#byAddress.get(address)?.waiting.add(key);
  }

  #stopWaiting(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.#waiting.delete(key);
    this.#byAddress.get(waiting.address)?.waiting.delete(key);
  }

  #forget(key: string, address: string): void {
    this.#stopWaiting(key);
    this.#sockets.delete(key);
    this.#admitted.delete(key);
    const of = this.#byAddress.get(address);
    if (of === undefined) return;
    of.all--;
    if (of.all === 0) this.#byAddress.delete(address);
  }

  #endOldest(keys: Iterable<string>): void {
    for (const key of keys) {
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) continue;
      this.#stopWaiting(key);
      this.#end(waiting, 'crowded');
      return;
    }
  }

  #end({ socket }: Waiting, why: 'crowded' | 'late'): void {
    this.#options.onEnd(why);
    socket.destroy();
  }

  #mostWaiting(): Iterable<string> {
    let most: ReadonlySet<string> = new Set();
    for (const { waiting } of this.#byAddress.values()) if (waiting.size > most.size) most = waiting;
    return most;
  }
}

export const addressOf = ({ remoteAddress = '' }: SocketAddresses): string => remoteAddress;

const keyOf = ({ remoteAddress, remotePort, localAddress, localPort }: SocketAddresses): string =>
  `${String(remoteAddress)} ${String(remotePort)} ${String(localAddress)} ${String(localPort)}`;

import type { SocketHandle } from '../proxy/index.ts';
import type { PortSocket, SocketsByKey } from './portSocket.ts';

/** The sockets and keys that the plane of a program leaves to the next program. */
export interface PlaneInheritance {
  readonly sockets: SocketsByKey;
  /** 64 hex digits: what sealed cookies, where the configuration has no key. */
  readonly sessionKey: string;
  /** 32 bytes, from which the keys of TLS tickets are made. */
  readonly ticketSecret: Buffer;
}

/** The state that a program leaves to its successor, besides the configuration, which each reads by itself. */
export interface Inheritance extends PlaneInheritance {
  /** The sockets of the operator's ports, by purpose and configured address. */
  readonly admin: ReadonlyMap<string, SocketHandle>;
  /** Attempts so far, the present one not among them. */
  readonly upgrades: UpgradeCounts;
}

export interface UpgradeCounts {
  readonly success: number;
  readonly failure: number;
}

/**
 * Marks the environment of a program that is started to take the place of another one: then there is a channel to that
 * one, over which it gets its inheritance.
 */
export const successorVariable = 'PORTCULLIS_SUCCESSOR';

/**
 * The version of the messages below. The two programs may be of different versions, so each checks it, and a
 * change that an older or newer one would not understand takes another number.
 */
export const format = 1;

/** From the program that goes. They come in this order, the sockets between the first and the last but one. */
export type FromPredecessor =
  | {
      readonly portcullis: 'inheritance';
      readonly format: number;
      readonly sessionKey: string;
      readonly ticketSecret: string;
      readonly upgrades: UpgradeCounts;
    }
  | { readonly portcullis: 'port'; readonly key: string; readonly port: number }
  | { readonly portcullis: 'admin'; readonly key: string }
  | { readonly portcullis: 'all' }
  /** The ports are the new program's alone from now on. */
  | { readonly portcullis: 'yours' };

/** From the program that comes. */
export type FromSuccessor =
  | { readonly portcullis: 'hello'; readonly format: number; readonly version: string }
  | { readonly portcullis: 'ready' }
  | { readonly portcullis: 'failed'; readonly problem: string };

/** The messages that carry an inheritance, each with its socket. */
export function* inheritanceMessages({
  sockets,
  admin,
  sessionKey,
  ticketSecret,
  upgrades,
}: Inheritance): Iterable<readonly [FromPredecessor, SocketHandle | undefined]> {
  const secret = ticketSecret.toString('hex');
  yield [{ portcullis: 'inheritance', format, sessionKey, ticketSecret: secret, upgrades }, undefined];
  for (const [key, each] of sockets)
    for (const { port, handle } of each) yield [{ portcullis: 'port', key, port }, handle];
  for (const [key, handle] of admin) yield [{ portcullis: 'admin', key }, handle];
  yield [{ portcullis: 'all' }, undefined];
}

/** Puts an inheritance together of its messages. */
export class InheritanceReader {
  private readonly sockets = new Map<string, PortSocket[]>();
  private readonly admin = new Map<string, SocketHandle>();
  private keys: Omit<Inheritance, 'sockets' | 'admin'> | undefined;

  /**
   * @returns the whole, once it is
   * @throws Error where the other program speaks another language
   */
  take(message: FromPredecessor, handle: SocketHandle | undefined): Inheritance | undefined {
    switch (message.portcullis) {
      case 'inheritance': {
        const { sessionKey, upgrades } = message;
        if (message.format !== format) throw new Error(formatMismatch(message.format));
        this.keys = { sessionKey, ticketSecret: Buffer.from(message.ticketSecret, 'hex'), upgrades };
        return undefined;
      }
      case 'port': {
        const { key, port } = message;
        if (handle !== undefined) this.sockets.set(key, [...(this.sockets.get(key) ?? []), { port, handle }]);
        return undefined;
      }
      case 'admin':
        if (handle !== undefined) this.admin.set(message.key, handle);
        return undefined;
      case 'all':
        if (this.keys === undefined) throw new Error('the handed-over state is incomplete');
        return { ...this.keys, sockets: this.sockets, admin: this.admin };
      case 'yours':
        return undefined;
    }
  }
}

export const formatMismatch = (other: unknown): string =>
  `the two versions use different upgrade formats (${String(other)} and ${format}): restart the gateway instead`;

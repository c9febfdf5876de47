import type { Held } from '../../http/index.ts';
import type { UnreadStream } from '../load/unreadResponses.ts';
import type { TlsDetails } from './tlsDetails.ts';

/** A port's view of a connection of any kind. A tunnel counts as idle since its last byte. */
export interface OpenConnection extends Held {
  /** Absent for connections without TLS, and for those that are not HTTP. */
  readonly tls?: TlsDetails | undefined;
  /** Streams whose answers wait for the client, where it has such. */
  unreadStreams?(): Iterable<UnreadStream>;
  /** Runs at every tick of the coarse clock. */
  sweep(now: number): void;
  /** Asks for the end, after what is under way. */
  drain(): void;
  /** @param reason for the log */
  destroy(reason?: string): void;
}

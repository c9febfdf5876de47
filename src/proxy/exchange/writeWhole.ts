import type { LiveExchange } from './liveExchange.ts';

/** Bytes of a body that wait for the client at a time: as many as those of one read from a backend. */
export const PIECE = 65_536;

/**
 * Hands a body over as its client takes it. A body that is written as a whole would be late, and too much for one
 * connection, however fast the client reads.
 * @param write writes a piece; @returns false when the client is slower
 */
export function writeWhole(
  exchange: LiveExchange,
  body: Buffer,
  write: (piece: Buffer, isLast: boolean) => boolean,
): void {
  const { connection } = exchange;
  let at = 0;
  const go = (): void => {
    while (at < body.length && !exchange.closed) {
      const piece = body.subarray(at, at + PIECE);
      at += piece.length;
      const isLast = at === body.length;
      if (isLast) {
        exchange.drained = undefined;
        connection.waits?.(0);
      }
      if (!write(piece, isLast) && !isLast) {
        connection.waits?.(body.length - at);
        return;
      }
    }
  };
  exchange.drained = go;
  go();
}

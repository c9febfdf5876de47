import type { LiveExchange } from './liveExchange.ts';

/** Bytes of a body that wait for the client at a time: as many as those of one read from a backend. */
export const PIECE = 65_536;

/**
 * Hands a body over as its client takes it. A body that waits as a whole would count as unread, and would be late,
 * however fast the client reads.
 * @param write writes a piece; @returns false when the client is slower
 */
export function writeWhole(
  exchange: LiveExchange,
  body: Buffer,
  write: (piece: Buffer, isLast: boolean) => boolean,
): void {
  let at = 0;
  const go = (): void => {
    while (at < body.length && !exchange.closed) {
      const piece = body.subarray(at, at + PIECE);
      at += piece.length;
      const isLast = at === body.length;
      if (isLast) exchange.drained = undefined;
      if (!write(piece, isLast) && !isLast) return;
    }
  };
  exchange.drained = go;
  go();
}

/** V8 copies shorter pieces of a text by itself. */
const shortestPiece = 13;

/** The text, alone in memory: a piece of a longer text, such as a message or a head, would keep all of that alive. */
export const ownCopy = (piece: string): string =>
  piece.length < shortestPiece ? piece : Buffer.from(piece).toString();

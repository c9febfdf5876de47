import { maxAttribute } from './contract.ts';

/** V8 copies shorter pieces of a text. */
const shortestPiece = 13;

/** The beginning of a text, alone in memory: a piece of the head of a request would keep the whole head alive. */
export function ownText(text: string): string {
  const piece = text.slice(0, maxAttribute);
  return piece.length < shortestPiece ? piece : Buffer.from(piece).toString();
}

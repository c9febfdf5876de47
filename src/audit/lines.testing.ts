import type { Chain } from './chain.ts';
import { WaitingLines } from './waitingLines.ts';

/** The whole line with its place and its code, as a sink gets it. @param open a line without its closing brace */
export function sealedLine(chain: Chain, open: string): string {
  const waiting = new WaitingLines(chain, 0);
  waiting.push(open);
  return String(waiting.shift()?.bytes);
}

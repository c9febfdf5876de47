import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Sink } from './sink.ts';

/** A line without an end is passed on in pieces of this many characters. */
const maxLine = 1_048_576;

/**
 * Passes on what another process writes, in whole lines: several processes that write to one pipe would break into
 * each other's lines, since the system keeps no more than 4 096 bytes of one write together.
 */
export function relayLines(from: Readable, to: Pick<Sink, 'write'>): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  from.on('data', (chunk: Buffer) => {
    const text = rest + decoder.write(chunk);
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) to.write(text.slice(0, end));
    rest = text.slice(end);
    if (rest.length <= maxLine) return;
    to.write(`${rest}\n`);
    rest = '';
  });
  // The last words of a process that was killed may have no end.
  from.on('end', () => {
    rest += decoder.end();
    if (rest !== '') to.write(`${rest}\n`);
    rest = '';
  });
  from.on('error', () => undefined);
}

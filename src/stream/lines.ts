import { GatheredBytes } from '../gatheredBytes.ts';

/** A line that never ends must not take the process down. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

/** The stream ended inside a line: what there is of it cannot be trusted. */
export class LineCut extends Error {
  override readonly name = 'LineCut';
}

const newline = 0x0a;

/**
 * Divides a stream of bytes into lines of text; empty ones are left out. A line may come in any number of pieces.
 *
 * @param maxBytes Longest line.
 * @throws LineTooLong, LineCut, and what the stream itself throws
 */
export async function* lines(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  const gathered = new GatheredBytes();
  for await (const chunk of stream) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      const to = end < 0 ? chunk.length : end;
      if (gathered.length + to - start > maxBytes)
        throw new LineTooLong(`a line is longer than ${String(maxBytes)} bytes`);
      if (end < 0) {
        if (to > start) gathered.add(chunk, start, to);
        break;
      }
      const line = gathered.finish(chunk, start, to).toString('utf8');
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
  }
  if (gathered.length > 0) throw new LineCut('the stream ended inside a line');
}

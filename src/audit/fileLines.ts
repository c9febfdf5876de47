import { createReadStream } from 'node:fs';

/**
 * The lines of a file without their line breaks. They end at line feeds only: `readline` splits at U+2028, too, which JSON
 * strings may hold as it is.
 */
export async function* fileLines(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
    const [first = '', ...lines] = chunk.split('\n');
    rest += first;
    for (const line of lines) {
      yield rest.endsWith('\r') ? rest.slice(0, -1) : rest;
      rest = line;
    }
  }
  yield rest;
}

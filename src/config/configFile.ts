import { createHash } from 'node:crypto';
import { readText } from './load.ts';
import { renderProblem } from './problem.ts';

/** The text of a configuration, and its entity tag in quotes, which changes with the text. */
export interface ConfigDocument {
  readonly text: string;
  readonly etag: string;
}

export const documentOf = (text: string): ConfigDocument => ({
  text,
  etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
});

/** The configuration that the command line names: a file, or the text itself. */
export class ConfigFile {
  private readonly source: { readonly file: string } | { readonly text: string };

  constructor(source: { readonly file: string } | { readonly text: string }) {
    this.source = source;
  }

  /** @throws Error where the file cannot be read */
  read(): ConfigDocument {
    if ('text' in this.source) return documentOf(this.source.text);
    const read = readText(this.source.file);
    if ('problem' in read) throw new Error(renderProblem(read.problem));
    return documentOf(read.text);
  }
}

import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../errorText.ts';
import { largeText } from '../files/index.ts';
import { loadText, readText, withMissingCommands, type LoadResult } from './load.ts';
import { loadElsewhere } from './loadElsewhere.ts';
import { renderProblem } from './problem.ts';
import type { Environment } from './variables.ts';

/** The text of a configuration, and its entity tag in quotes, which changes with the text. */
export interface ConfigDocument {
  readonly text: string;
  readonly etag: string;
}

/** The text that is there is not the one that the writer has read. */
export class ConfigConflict extends Error {
  override readonly name = 'ConfigConflict';
}

const documentOf = (text: string): ConfigDocument => ({
  text,
  etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
});

export interface ConfigFileOptions {
  readonly source: { readonly file: string } | { readonly text: string };
  /** The name of the source in problems. */
  readonly name: string;
  readonly env: Environment;
}

/** The configuration that the command line names: a file, or the text itself. */
export class ConfigFile {
  private readonly options: ConfigFileOptions;
  private readonly ended = new AbortController();

  constructor(options: ConfigFileOptions) {
    this.options = options;
  }

  /** @throws Error where the file cannot be read */
  read(): ConfigDocument {
    const { source } = this.options;
    if ('text' in source) return documentOf(source.text);
    const read = readText(source.file);
    if ('problem' in read) throw new Error(renderProblem(read.problem));
    return documentOf(read.text);
  }

  /** Checks a text as if it were the configuration. @throws Error where the thread for a large text fails */
  async check(text: string): Promise<LoadResult> {
    const { name: file, env } = this.options;
    const large = text.length >= largeText;
    const result = large
      ? await loadElsewhere(text, { file, env }, this.ended.signal)
      : loadText(text, { file, env });
    if (!result.ok || !result.closesEverything) return withMissingCommands(result, env);
    const message = 'has no binds any more, so every port would close; write `binds: []` if that is meant';
    return { ok: false, problems: [{ file, path: '', message }] };
  }

  /** The reason why the file cannot be written; undefined where it can. */
  get whyNotWritable(): string | undefined {
    const { source } = this.options;
    if ('text' in source) return 'the configuration is not in a file';
    try {
      const file = realpathSync(source.file);
      accessSync(file, constants.W_OK);
      accessSync(dirname(file), constants.W_OK);
      return undefined;
    } catch (error) {
      return `the file cannot be replaced: ${messageOf(error)}`;
    }
  }

  /**
   * Replaces the text. A reader sees the old file or the new one, which keeps the mode and the owner. A link stays.
   * @param etag that of the text which the writer has read
   * @throws ConfigConflict where another text is there by now; Error where the file cannot be written
   */
  write(text: string, etag: string): ConfigDocument {
    const { source } = this.options;
    const problem = this.whyNotWritable;
    if ('text' in source || problem !== undefined) throw new Error(problem);
    // No turn of the event loop lies between the comparison and the new file.
    if (this.read().etag !== etag)
      throw new ConfigConflict('the configuration has changed since it was read');
    replaceFile(realpathSync(source.file), text);
    return documentOf(text);
  }

  /** Ends checks that are under way. */
  close(): void {
    this.ended.abort();
  }
}

/** @throws Error; the old file stays then */
function replaceFile(file: string, text: string): void {
  const next = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`);
  const { mode, uid, gid } = statSync(file);
  const descriptor = openSync(next, 'wx', 0o600);
  try {
    try {
      const own = fstatSync(descriptor);
      if (own.uid !== uid || own.gid !== gid) fchownSync(descriptor, uid, gid);
      fchmodSync(descriptor, mode & 0o7777);
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

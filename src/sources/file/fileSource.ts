import type { Model } from '../../model/index.ts';
import { loadText, readText, type LoadResult } from './load.ts';
import type { Problem } from './problem.ts';
import type { Environment } from './variables.ts';
import { FileWatch } from './watch.ts';

export interface FileSourceOptions {
  readonly file: string;
  readonly env: Environment;
  /** A change that is valid. Also runs when a file that the configuration names (a key set) changed. */
  readonly onModel: (model: Model, warnings: readonly Problem[]) => void;
  /** A change that is not; the last good model stays in force. */
  readonly onProblems: (problems: readonly Problem[]) => void;
  readonly settleMs?: number;
  readonly pollMs?: number;
}

/** A configuration file: read once by `start`, then followed until `close`. */
export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #watch: FileWatch;
  #closed = false;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    const { settleMs, pollMs } = options;
    this.#watch = new FileWatch({
      onChange: () => this.#changed(),
      ...(settleMs === undefined ? {} : { settleMs }),
      ...(pollMs === undefined ? {} : { pollMs }),
    });
  }

  /** Loads the file and begins to follow it. The first result is returned; the callbacks get later ones only. */
  start(): LoadResult {
    // Followed before it is read: a change between the two is seen as a change, not lost.
    this.#watch.follow([this.#options.file]);
    return this.#load();
  }

  close(): void {
    this.#closed = true;
    this.#watch.close();
  }

  #load(): LoadResult {
    const { file, env } = this.#options;
    const read = readText(file);
    if ('problem' in read) return { ok: false, problems: [read.problem] };
    const result = loadText(read.text, { file, env });
    // An invalid file names nothing; what the one in force names is still followed.
    if (result.ok) this.#watch.follow([file, ...result.files]);
    return result;
  }

  #changed(): void {
    if (this.#closed) return;
    const { file, onModel, onProblems } = this.#options;
    const result = this.#load();
    try {
      if (result.ok) onModel(result.model, result.warnings);
      else onProblems(result.problems);
    } catch (error) {
      // A model that cannot be taken must not end the process; the one in force stays.
      const reason = error instanceof Error ? error.message : String(error);
      onProblems([{ file, path: '', message: `cannot be applied: ${reason}` }]);
    }
  }
}

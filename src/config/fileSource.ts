import { statSync } from 'node:fs';
import { messageOf } from '../errorText.ts';
import { FileWatch, largeText } from '../files/index.ts';
import type { Model } from '../model/index.ts';
import { loadText, readText, withMissingCommands, type LoadResult } from './load.ts';
import { loadElsewhere } from './loadElsewhere.ts';
import type { Problem } from './problem.ts';
import type { Secrets } from './secrets.ts';
import type { Environment } from './variables.ts';

export interface FileSourceOptions {
  readonly file: string;
  readonly env: Environment;
  /** A change that is valid. Also runs when a file that the configuration names (a key set) changed. */
  readonly onModel: (model: Model, warnings: readonly Problem[], secrets: Secrets) => void;
  /** A change that is not; the last good model stays in force. */
  readonly onProblems: (problems: readonly Problem[]) => void;
  readonly settleMs?: number;
  readonly pollMs?: number;
  /** Milliseconds of a clock that does not jump. */
  readonly now?: () => number;
}

/** A configuration file: read once by `start`, then followed until `close`. */
export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #watch: FileWatch;
  readonly #ended = new AbortController();
  /** A change came that was not read yet. */
  #changedAgain = false;
  #isReading = false;
  /** The files that the configuration in force names. */
  #files: readonly string[] = [];
  #text: string | undefined;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    const { settleMs, pollMs, now } = options;
    this.#watch = new FileWatch({
      onChange: () => this.#changed(),
      ...(settleMs === undefined ? {} : { settleMs }),
      ...(pollMs === undefined ? {} : { pollMs }),
      ...(now === undefined ? {} : { now }),
    });
  }

  /** Loads the file and begins to follow it. The first result is returned; the callbacks get later ones only. */
  start(): LoadResult {
    const { file, env } = this.#options;
    // Followed before it is read: a change between the two is seen as a change, not lost.
    this.#watch.follow([file]);
    const read = readText(file);
    if ('problem' in read) return { ok: false, problems: [read.problem] };
    return this.#follow(loadText(read.text, { file, env }), read.text);
  }

  /** The newest text that is valid. */
  get text(): string | undefined {
    return this.#text;
  }

  /** Looks for changes now. */
  look(): void {
    this.#watch.look();
  }

  close(): void {
    this.#ended.abort();
    this.#watch.close();
  }

  /** The source still follows the files of the configuration in force while a newer one is invalid. */
  #follow(result: LoadResult, text: string | undefined): LoadResult {
    if (result.ok) {
      this.#text = text;
      this.#files = result.files;
    }
    this.#watch.follow([...new Set([this.#options.file, ...this.#files, ...(result.files ?? [])])]);
    return withMissingCommands(result, this.#options.env);
  }

  #changed(): void {
    this.#changedAgain = true;
    if (!this.#isReading) void this.#readChanges();
  }

  /** Never rejects. */
  async #readChanges(): Promise<void> {
    this.#isReading = true;
    while (this.#changedAgain && !this.#ended.signal.aborted) {
      this.#changedAgain = false;
      await this.#readChange();
    }
    this.#isReading = false;
  }

  async #readChange(): Promise<void> {
    const { file, onModel, onProblems } = this.#options;
    const problem = (message: string): void => onProblems([{ file, path: '', message }]);
    const read = readText(file);
    // A program writes to the file right now: the gateway reads it when it was left alone.
    if (this.#watch.isDisturbed(file)) return;
    let result: LoadResult;
    try {
      result = 'text' in read ? await this.#load(read.text) : { ok: false, problems: [read.problem] };
    } catch (error) {
      if (!this.#ended.signal.aborted) problem(`cannot be read: ${messageOf(error)}`);
      return;
    }
    // The result of a newer text follows.
    if (this.#ended.signal.aborted || this.#changedAgain) return;
    result = this.#follow(result, 'text' in read ? read.text : undefined);
    try {
      if (!result.ok) onProblems(result.problems);
      else if (result.closesEverything)
        problem('has no binds any more, so every port would close; write `binds: []` if that is meant');
      else onModel(result.model, result.warnings, result.secrets);
    } catch (error) {
      // A model that cannot be taken must not end the process; the one in force stays.
      problem(`cannot be applied: ${messageOf(error)}`);
    }
  }

  async #load(text: string): Promise<LoadResult> {
    const { file, env } = this.#options;
    // Some of the files, such as descriptions of APIs, are parsed with the configuration.
    const size = this.#files.reduce((sum, one) => sum + sizeOf(one), text.length);
    if (size < largeText) return loadText(text, { file, env });
    return await loadElsewhere(text, { file, env }, this.#ended.signal);
  }
}

/** Bytes of a file; 0 where there is none. */
const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

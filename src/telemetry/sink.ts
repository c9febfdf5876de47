import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { LinePage, linesIn, newline } from './linePage.ts';
import { standardOutput, type LineWriter } from './standardOutput.ts';

/** The destination of lines: a file descriptor (1 is stdout, 2 is stderr) or a stream. */
export type Destination = 1 | 2 | Writable;

export interface SinkOptions {
  /** Lines are gathered up to this many bytes before they are written; 0 writes each at once. */
  readonly flushAt: number;
  /** Longest time a gathered line waits, in milliseconds. */
  readonly flushMs: number;
  /** Told how many lines were dropped since the last time: at the first drop, then at most every ten seconds. */
  readonly onDrop?: (lines: number) => void;
  /**
   * Makes the line that reports lost lines in the destination itself. The sink writes it before the next lines, once
   * the destination takes lines again.
   */
  readonly lossLine?: (lines: number) => string;
}

/** Bytes kept for a destination that does not keep up; lines beyond them are dropped and counted. */
const maxBacklog = 4_194_304;
const retryMs = 50;
const reportMs = 10_000;
/** The time that an ending process waits for a full pipe. */
const lastWaitMs = 500;

const lineEnd = Buffer.from('\n');
const noBytes = Buffer.alloc(0);

/** Writes whole lines in order, keeps bounded memory, and leaves nothing behind when the process exits. */
export class Sink implements LineWriter {
  readonly #put: (chunk: Buffer) => number;
  readonly #backlogOf: () => number;
  readonly #options: SinkOptions;
  readonly #atExit = (): void => this.#finish();
  readonly #gathered: LinePage;
  /** The bytes that the destination did not take yet, always from the middle or the start of whole lines. */
  #rest: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  /** Lost lines that the line in `#rest` reports; 0 where `#rest` holds ordinary lines. */
  #reporting = 0;
  /** False after the destination took the beginning of a line and then refused the rest of it. */
  #atLineStart = true;
  #reportedAt = -reportMs;

  constructor(destination: Destination, options: SinkOptions) {
    this.#options = options;
    this.#gathered = new LinePage(options.flushAt);
    if (typeof destination === 'number') {
      // Opening the stream makes a pipe non-blocking; a reader that stalls must not stall the gateway.
      void (destination === 1 ? process.stdout : process.stderr).writableLength;
      if (destination === 1) standardOutput.join(this);
      this.#put = (chunk) => {
        if (destination === 1) standardOutput.endOtherLines(this);
        return writeSync(destination, chunk);
      };
      this.#backlogOf = () => 0;
    } else {
      // A broken log destination is no reason to end the process.
      destination.on('error', () => {});
      this.#put = (chunk) => {
        if (destination.destroyed) throw new Error('the destination is gone');
        destination.write(chunk, (error) => {
          if (error) this.#dropped += linesIn(chunk);
        });
        return chunk.length;
      };
      this.#backlogOf = () => destination.writableLength;
    }
    process.on('exit', this.#atExit);
  }

  /** Takes a text of whole lines, ending in a newline. Never throws and never waits. */
  write(line: string): void {
    if (this.#gathered.length + (this.#rest?.length ?? 0) + this.#backlogOf() > maxBacklog) {
      this.#dropped += linesIn(Buffer.from(line));
      this.#report();
      return;
    }
    this.#gathered.add(line);
    if (this.#rest === undefined && this.#gathered.length >= this.#options.flushAt) this.flush();
    else this.#arm(this.#options.flushMs);
  }

  /** Hands what is gathered to the destination now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#flushOnce()) this.#arm(retryMs);
    else if (this.#dropped > 0) this.#report();
  }

  /** Writes what is left, waiting a moment for a full pipe. The sink takes no lines afterwards. */
  close(): void {
    process.off('exit', this.#atExit);
    this.#finish();
    // The end of a line that a full pipe has refused may still go before the line of another writer.
    if (this.#atLineStart) standardOutput.leave(this);
    if (this.#dropped > 0) this.#tell();
  }

  /** For other writers to standard output. */
  endLine(): void {
    while (!this.#atLineStart) {
      const rest = this.#rest ?? lineEnd;
      const end = rest.indexOf(newline) + 1;
      this.#note(rest, writeSync(1, rest, 0, end));
    }
  }

  /** False when the destination would not take everything. */
  #flushOnce(): boolean {
    try {
      while (this.#takeNext()) {
        const chunk = this.#rest ?? noBytes;
        this.#note(chunk, this.#put(chunk));
      }
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      // A closed pipe, a full disk: these lines are lost, the next ones may fare better.
      const refused = this.#reporting > 0 ? this.#reporting : linesIn(this.#rest ?? noBytes);
      this.#dropped += refused + linesIn(this.#gathered.take());
      this.#reporting = 0;
      this.#rest = undefined;
      return true;
    }
  }

  /** The destination has taken so many bytes of the chunk. */
  #note(chunk: Buffer, written: number): void {
    if (written > 0) this.#atLineStart = chunk[written - 1] === newline;
    this.#rest = written < chunk.length ? chunk.subarray(written) : undefined;
  }

  /** Makes the next lines ready in `#rest`. @returns false where nothing is left to write */
  #takeNext(): boolean {
    if (this.#rest !== undefined) return true;
    this.#reporting = 0;
    const { lossLine } = this.#options;
    if (this.#gathered.length === 0 && (this.#dropped === 0 || lossLine === undefined)) return false;
    // The half of a line that the destination took gets an end, so that the next record is a line of its own.
    if (!this.#atLineStart) this.#atLineStart = this.#put(lineEnd) > 0;
    if (this.#dropped > 0 && lossLine !== undefined) {
      this.#reporting = this.#dropped;
      this.#dropped = 0;
      this.#rest = Buffer.from(lossLine(this.#reporting));
    } else {
      this.#rest = this.#gathered.take();
    }
    return true;
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const until = performance.now() + lastWaitMs;
    while (!this.#flushOnce() && performance.now() < until)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }

  #arm(ms: number): void {
    this.#timer ??= setTimeout(() => this.flush(), ms).unref();
  }

  #report(): void {
    const now = performance.now();
    if (now - this.#reportedAt < reportMs) return;
    this.#reportedAt = now;
    this.#tell();
  }

  #tell(): void {
    if (this.#options.onDrop === undefined) return;
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#options.onDrop(lines);
  }
}

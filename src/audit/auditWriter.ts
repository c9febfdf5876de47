import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { messageOf } from '../errorText.ts';
import { within } from '../within.ts';
import { linesIn, LogThrottle, type Logger } from '../telemetry/index.ts';
import { SinkError, type AuditSinkPort } from './auditSink.ts';
import { readSealed, type Chain, type ChainPlace } from './chain.ts';
import { LastLines } from './lastLines.ts';
import { streamLine } from './lines.ts';
import { WaitingLines, type Piece } from './waitingLines.ts';

export interface AuditWriterOptions {
  readonly sink: AuditSinkPort;
  readonly chain: Chain | undefined;
  /** Lines must be durable when a write is complete. */
  readonly durable: boolean;
  readonly log: Logger;
  /** Told about lines that will never be written. */
  readonly onLost: (lines: number) => void;
  readonly onWritten: (lines: number) => void;
  readonly onFailure: () => void;
  /** Hears of each write that the sink has stored whole, with the place of its last line. */
  readonly onStored: (place: ChainPlace | undefined) => void;
  /** Milliseconds; tests hurry. */
  readonly pace?: Partial<Pace>;
}

interface Pace {
  /** Between two attempts at a sink that fails. */
  readonly retryMs: number;
  /** A call waits so long for its intent. */
  readonly intentMs: number;
  /** The end of the process waits so long for the sink. */
  readonly closeMs: number;
  /** Between two messages about a sink that goes on to fail. */
  readonly reportMs: number;
}

const defaultPace: Pace = { retryMs: 500, intentMs: 5_000, closeMs: 1_500, reportMs: 60_000 };

/** Bytes of lines that wait for a sink; lines beyond them are lost and counted. */
const maxBacklog = 8_388_608;

/** Places of lost lines that one line of the stream names. */
const maxSeqs = 64;

/**
 * Lines that the writer makes together. The code for requests pushes the code for lines out of the processor's caches,
 * so a line by itself costs three times as much.
 */
const together = 128;

/** The writer asks a maker for its line, which has no closing brace. */
export interface LineMaker {
  line(): string;
}

interface Intent {
  /** The number of the line. */
  readonly line: number;
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: GatewayError) => void;
}

/**
 * Writes the lines of one process in their order: gathers them, seals them into the chain, and repeats a write that
 * failed. A sealed line is dropped only if the sink will never take it, and then the stream names its number.
 */
export class AuditWriter {
  readonly lastLines = new LastLines();
  private readonly options: AuditWriterOptions;
  private readonly pace: Pace;
  private readonly waiting: WaitingLines;
  /** Makers of lines that follow those that wait. */
  private unmade: LineMaker[] = [];
  /** Bytes that the sink has yet to store, and the number of their lines. */
  private batch: Buffer | undefined;
  private batchLines = 0;
  /** The lines that `batch` is, or is the rest of. */
  private piece: Piece | undefined;
  /** Numbers of lines: taken so far, and durable so far. */
  private taken = 0;
  private stored = 0;
  private lost = 0;
  /** Places in the chain of lost lines that were sealed. */
  private lostSeqs: number[] = [];
  private intents: Intent[] = [];
  private timer: NodeJS.Timeout | undefined;
  private watch: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private failing = false;
  private readonly reports: LogThrottle;
  private closing = false;
  private closed = false;
  private readonly atExit = (): void => this.writeRest();

  constructor(options: AuditWriterOptions) {
    this.options = options;
    this.pace = { ...defaultPace, ...options.pace };
    this.reports = new LogThrottle(this.pace.reportMs);
    this.waiting = new WaitingLines(options.chain, options.sink.maxBatch);
    process.on('exit', this.atExit);
  }

  /**
   * Takes the maker of a line. Never throws and never waits.
   * @param isLight asks it later, together with others; a maker must not hold much until then
   */
  writeLater(maker: LineMaker, isLight = true): void {
    if (this.closed) return;
    this.unmade.push(maker);
    if (!isLight || this.failing || this.unmade.length === together) this.make();
    else if (this.running === undefined) this.arm(this.options.sink.gatherMs);
  }

  /** Takes a line without its closing brace. Never throws and never waits. @returns false where it is lost */
  write(line: string): boolean {
    if (this.closed) return false;
    this.make();
    return this.take(line);
  }

  private make(): void {
    if (this.unmade.length === 0) return;
    const makers = this.unmade;
    this.unmade = [];
    for (const line of makers.map((maker) => this.madeBy(maker))) if (line !== undefined) this.take(line);
  }

  /** @returns undefined where the maker fails; the lines of others are as good as before */
  private madeBy(maker: LineMaker): string | undefined {
    try {
      return maker.line();
    } catch (error) {
      this.lose(1, `a line cannot be made: ${messageOf(error)}`);
      return undefined;
    }
  }

  private take(line: string): boolean {
    if (this.waiting.length + line.length > maxBacklog) {
      this.lose(1, 'the sink takes no lines, and the memory for them is full');
      return false;
    }
    if (this.lost > 0) this.reportLoss();
    this.push(line);
    if (this.running !== undefined) return true;
    if (this.waiting.hasFullPiece && !this.failing) void this.run();
    else this.arm(this.options.sink.gatherMs);
    return true;
  }

  /**
   * Takes the intent of a call; `settled` tells when it is durable.
   * @throws GatewayError audit_unavailable
   */
  writeIntent(line: string): void {
    if (this.failing) throw unavailable('the sink fails');
    if (!this.write(line)) throw unavailable('too many lines wait for the sink');
  }

  /**
   * Resolves when all lines so far are durable; undefined where they are.
   * It rejects with GatewayError audit_unavailable.
   */
  get settled(): Promise<void> | undefined {
    const line = this.taken;
    if (this.stored >= line) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.intents.push({ line, since: performance.now(), resolve, reject });
    this.watchIntents();
    // The intents of one turn of the event loop go together.
    if (this.running === undefined && !this.failing) this.arm(0, true);
    return promise;
  }

  /** Writes what is left, and a last line. The writer takes no lines afterwards. Never rejects. */
  async close(last: string | undefined): Promise<void> {
    if (this.closing) return;
    this.make();
    if (this.lost > 0) this.reportLoss();
    if (last !== undefined) this.push(last);
    this.closing = true;
    const until = performance.now() + this.pace.closeMs;
    while (this.hasMore && performance.now() < until) {
      clearTimeout(this.timer);
      this.timer = undefined;
      await within(until - performance.now(), this.run());
      if (this.failing) await delay(Math.max(0, Math.min(50, until - performance.now())));
    }
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    process.off('exit', this.atExit);
    this.make();
    if (this.hasMore)
      this.lose(this.batchLines + this.waiting.count, 'the sink takes no lines, and the gateway stops');
    for (const { reject } of this.intents.splice(0)) reject(unavailable('the gateway is shutting down'));
    await this.options.sink.close();
  }

  private get hasMore(): boolean {
    return this.batch !== undefined || this.waiting.count > 0 || this.unmade.length > 0;
  }

  private push(line: string): void {
    this.waiting.push(line);
    this.taken++;
  }

  private lose(lines: number, why: string): void {
    if (this.lost === 0 || this.closed) this.options.log.warn(`Audit lines lost: ${why}`, { lines });
    this.lost += lines;
    this.options.onLost(lines);
  }

  /** The stream itself says where it has a gap. */
  private reportLoss(): void {
    const lines = this.lost;
    const seqs = this.lostSeqs;
    this.lost = 0;
    this.lostSeqs = [];
    this.push(
      streamLine('audit.lost', {
        'audit.lost_lines': lines,
        ...(seqs.length > 0 && { 'audit.lost_seqs': seqs.join(' ') }),
      }),
    );
  }

  private arm(ms: number, sooner = false): void {
    if (sooner && this.timer !== undefined) {
      clearTimeout(this.timer);
      this.timer = undefined;
    }
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.run();
    }, ms).unref();
  }

  private run(): Promise<void> {
    return (this.running ??= this.drain().finally(() => {
      this.running = undefined;
      if (!this.closing && this.hasMore)
        this.arm(this.failing ? this.pace.retryMs : this.intents.length > 0 ? 0 : this.options.sink.gatherMs);
    }));
  }

  /** Writes the waiting lines, and those that arrive meanwhile if calls wait for them. Never rejects. */
  private async drain(): Promise<void> {
    do {
      this.batch ??= this.nextBatch();
      const { batch } = this;
      if (batch === undefined) return;
      try {
        await this.options.sink.write(batch, this.options.durable);
      } catch (error) {
        if (error instanceof SinkError && error.refused > 0) {
          this.refused(batch, error);
          continue;
        }
        this.failed(batch, error);
        return;
      }
      this.batch = undefined;
      this.succeeded(this.batchLines);
    } while (
      this.batch !== undefined ||
      this.intents.length > 0 ||
      this.closing ||
      this.waiting.hasFullPiece
    );
  }

  private nextBatch(): Buffer | undefined {
    this.make();
    const piece = this.waiting.shift();
    this.piece = piece;
    this.batchLines = piece?.lines ?? 0;
    if (piece !== undefined) this.lastLines.add(piece.bytes);
    return piece?.bytes;
  }

  private succeeded(lines: number): void {
    this.stored += lines;
    this.batchLines = 0;
    const { piece } = this;
    if (piece !== undefined) this.waiting.giveBack(piece);
    this.piece = undefined;
    this.options.onWritten(lines);
    this.worksAgain();
    if (this.intents.length > 0) {
      const due = this.intents.findIndex(({ line }) => line > this.stored);
      const done = due === -1 ? this.intents.splice(0) : this.intents.splice(0, due);
      for (const { resolve } of done) resolve();
    }
    this.options.onStored(piece?.place);
  }

  private worksAgain(): void {
    if (!this.failing) return;
    this.failing = false;
    this.options.log.info('Audit sink works again');
  }

  /** The sink will never take one of the lines, so the lines behind that line must not wait for it. */
  private refused(batch: Buffer, error: SinkError): void {
    const rest = this.countStored(batch, error.stored);
    const line = rest.subarray(0, error.refused);
    this.batch = rest.length === line.length ? undefined : rest.subarray(line.length);
    this.stored++;
    this.batchLines--;
    const seq = this.options.chain && readSealed(line.toString().trimEnd())?.seq;
    if (seq !== undefined && this.lostSeqs.length < maxSeqs) this.lostSeqs.push(seq);
    const place = seq === undefined ? '' : `line ${seq} of the chain: `;
    this.lose(1, `${place}the sink refuses ${line.length} bytes as too large (${error.message})`);
    this.options.onFailure();
    this.worksAgain();
    this.rejectIntents(error);
  }

  private failed(batch: Buffer, error: unknown): void {
    const rest = this.countStored(batch, error instanceof SinkError ? error.stored : 0);
    this.batch = rest.length === 0 ? undefined : rest;
    this.options.onFailure();
    const isDue = this.reports.take();
    if (!this.failing || isDue)
      this.options.log.error('Audit sink failed', {
        reason: messageOf(error),
        waiting: this.batchLines + this.waiting.count + this.unmade.length,
      });
    this.failing = true;
    this.rejectIntents(error);
  }

  /** Counts lines that the sink has stored. @returns the bytes behind them */
  private countStored(batch: Buffer, stored: number): Buffer {
    if (stored === 0) return batch;
    const lines = linesIn(batch.subarray(0, stored));
    this.stored += lines;
    this.batchLines -= lines;
    this.options.onWritten(lines);
    return batch.subarray(stored);
  }

  private rejectIntents(error: unknown): void {
    for (const { reject } of this.intents.splice(0)) reject(unavailable(messageOf(error)));
  }

  /** A sink that neither stores nor fails must not hold calls for ever. */
  private watchIntents(): void {
    const [oldest] = this.intents;
    if (this.watch !== undefined || oldest === undefined) return;
    const rest = oldest.since + this.pace.intentMs - performance.now();
    this.watch = setTimeout(() => {
      this.watch = undefined;
      const before = performance.now() - this.pace.intentMs + 1;
      while (this.intents[0] !== undefined && this.intents[0].since <= before)
        this.intents.shift()?.reject(unavailable('the sink is too slow'));
      this.watchIntents();
    }, rest).unref();
  }

  /** The process ends without notice: an uncaught error, or a call of `process.exit`. */
  private writeRest(): void {
    if (this.running !== undefined) return;
    try {
      for (let batch = this.batch ?? this.nextBatch(); batch !== undefined; batch = this.nextBatch())
        this.options.sink.writeNow(batch);
    } catch {
      // Nothing is left that could say so.
    }
  }
}

const unavailable = (detail: string): GatewayError => new GatewayError('audit_unavailable', { detail });

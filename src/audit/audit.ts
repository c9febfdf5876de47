import { randomBytes } from 'node:crypto';
import { messageOf } from '../errorText.ts';
import { readRegularFile } from '../files/index.ts';
import { leastAuditKeyBytes, type AuditGroup, type AuditSettings } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { argumentsView } from './argumentsView.ts';
import type { AuditSinkPort } from './auditSink.ts';
import { AuditWriter, type AuditWriterOptions } from './auditWriter.ts';
import { Chain, ChainKeys, readSealed } from './chain.ts';
import { Checkpoints } from './checkpoints.ts';
import { FileSink } from './fileSink.ts';
import { HttpSink } from './httpSink.ts';
import { intentLine, operationLine, streamLine, type AuditedEnd, type AuditedOperation } from './lines.ts';
import type { LiveOperation } from './liveOperation.ts';
import { OpenOperations } from './openOperations.ts';
import { groupOf } from './operationGroups.ts';
import { StdoutSink } from './stdoutSink.ts';

export interface AuditOptions {
  readonly settings: AuditSettings;
  /** Names the process in the chain: letters, digits, `-` and `.`. */
  readonly writer: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Tests hurry. */
  readonly pace?: AuditWriterOptions['pace'];
}

/** The audit stream of one process. */
export class Audit {
  readonly settings: AuditSettings;
  /** Arguments as lines show them; undefined where lines show none. */
  readonly argumentsOf: ((text: string) => string) | undefined;
  private readonly groups: ReadonlySet<AuditGroup>;
  private readonly writer: AuditWriter;
  private readonly chain: Chain | undefined;
  private readonly checkpoints: Checkpoints | undefined;
  private readonly open = new OpenOperations<LiveOperation>();
  private readonly refused: { add(labels: Record<string, string>): void };
  private readonly run = randomBytes(6).toString('hex');
  private operations = 0;
  private stored = true;

  /** @throws Error naming what the stream lacks: a file, a folder, a key */
  constructor({ settings, writer, log, metrics, pace }: AuditOptions) {
    this.settings = settings;
    this.groups = new Set(settings.include);
    if (settings.arguments !== 'none') this.argumentsOf = argumentsView(settings);
    const written = metrics.counter(
      'audit_lines_total',
      'Lines of the audit stream that its sink stored.',
      [],
    );
    const lost = metrics.counter('audit_lost_total', 'Lines of the audit stream that are lost.', []);
    const failures = metrics.counter('audit_write_failures_total', 'Writes that the audit sink refused.', []);
    this.refused = metrics.counter(
      'audit_refused_total',
      'Requests that were refused because the audit stream could not store their intent.',
      [],
    );
    const keys = settings.chain && new ChainKeys(readKey(settings.chain.keyFile));
    const sink = openSink(settings);
    try {
      if (settings.chain !== undefined && keys !== undefined) {
        const { checkpointFile: file, checkpointEveryMs: everyMs } = settings.chain;
        this.chain = new Chain(writer, keys);
        this.checkpoints = new Checkpoints({ keys, file, everyMs, log });
      }
    } catch (error) {
      void sink.close();
      throw new Error(`config.audit.chain.checkpoints: ${messageOf(error)}`, { cause: error });
    }
    this.writer = new AuditWriter({
      sink,
      chain: this.chain,
      durable: settings.required,
      log,
      onLost: (lines) => {
        this.stored = false;
        lost.add({}, lines);
      },
      onWritten: (lines) => written.add({}, lines),
      onFailure: () => failures.add({}),
      onStored: (place) => this.checkpoints?.due(place),
      ...(pace && { pace }),
    });
    if (this.chain !== undefined)
      this.writer.write(streamLine('audit.start', previousOf(writer, sink.tail())));
  }

  includes(operation: string): boolean {
    return this.groups.has(groupOf(operation));
  }

  /**
   * Records the beginning of an operation: where the stream is required, its intent is on its way to the sink, and
   * `settled` tells when it is there.
   * @throws GatewayError audit_unavailable; the operation must not begin then
   */
  begin(operation: LiveOperation): void {
    this.open.add(operation);
    if (!this.settings.required) return;
    try {
      this.writer.writeIntent(intentLine(operation.keepBeginning(`${this.run}.${++this.operations}`)));
    } catch (error) {
      this.countRefusal();
      this.end(operation, { outcome: 'refused', error: 'audit_unavailable' });
      throw error;
    }
  }

  /** Records the end of an operation. Only the first one counts. @param end the operation tells it where it is absent */
  end(operation: LiveOperation, end?: AuditedEnd): void {
    if (!this.open.remove(operation)) return;
    if (end !== undefined) operation.keepEnd(end);
    this.writer.writeLater(operation, operation.isLight);
  }

  /** The last lines of this process as JSON, the oldest first. */
  get lastLines(): readonly string[] {
    return this.writer.lastLines.all;
  }

  /** Resolves when all intents so far are durable; undefined where nobody has to wait. Rejects with GatewayError. */
  get settled(): Promise<void> | undefined {
    return this.settings.required ? this.writer.settled : undefined;
  }

  countRefusal(): void {
    this.refused.add({});
  }

  /** Records an operation that is over, if the stream includes its group. */
  record(operation: AuditedOperation, end: AuditedEnd): void {
    if (this.includes(operation.operation))
      this.writer.writeLater({ line: () => operationLine(operation, end) });
  }

  /** Writes all lines; operations that are still open are unfinished. Never rejects. */
  async close(): Promise<void> {
    for (const open of this.open.all)
      this.end(open, { outcome: 'unfinished', detail: 'the gateway is shutting down' });
    this.stored = true;
    await this.writer.close(this.chain && streamLine('audit.stop', {}));
    await this.checkpoints?.close(this.stored);
  }
}

function readKey(file: string): Buffer {
  let key: Buffer;
  try {
    key = readRegularFile(file);
  } catch (error) {
    throw new Error(`config.audit.chain.key: ${file}: ${messageOf(error)}`, { cause: error });
  }
  if (key.length < leastAuditKeyBytes)
    throw new Error(
      `config.audit.chain.key: ${file}: expected at least ${leastAuditKeyBytes} bytes, got ${key.length}`,
    );
  return key;
}

function openSink({ sink, required }: AuditSettings): AuditSinkPort {
  if (sink.kind === 'stdout') return new StdoutSink();
  if ('url' in sink) return new HttpSink(sink);
  try {
    return new FileSink({ path: sink.path, rotation: sink.rotation, durable: required });
  } catch (error) {
    throw new Error(`config.audit.sink.file: ${messageOf(error)}`, { cause: error });
  }
}

/** The last line that a former run of the writer has left, as the first line of this run names it. */
function previousOf(writer: string, tail: string): Readonly<Record<string, string | number>> {
  const mark = `"chain.writer":${JSON.stringify(writer)},`;
  for (let at = tail.lastIndexOf(mark); at !== -1; at = at === 0 ? -1 : tail.lastIndexOf(mark, at - 1)) {
    const start = tail.lastIndexOf('\n', at) + 1;
    const end = tail.indexOf('\n', at);
    const line = end === -1 ? undefined : readSealed(tail.slice(start, end));
    if (line?.writer === writer)
      return { 'previous.epoch': line.epoch, 'previous.seq': line.seq, 'previous.mac': line.mac };
  }
  return {};
}

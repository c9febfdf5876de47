import { messageOf } from '../errorText.ts';
import type { Logger } from '../telemetry/index.ts';
import type { ChainKeys, ChainPlace } from './chain.ts';
import { FileSink } from './fileSink.ts';

export interface CheckpointOptions {
  readonly keys: ChainKeys;
  /** Absent: the log has the checkpoints. */
  readonly file?: string | undefined;
  readonly everyMs: number;
  readonly log: Logger;
}

/** A checkpoint as files and logs have it. */
export interface Checkpoint extends ChainPlace {
  readonly signature: string;
}

/**
 * Signs the last line of a chain now and then, in a place apart from the chain. Nobody can cut the end of the chain, or
 * compute the chain anew, without a contradiction to a checkpoint.
 */
export class Checkpoints {
  private readonly options: CheckpointOptions;
  private readonly sink: FileSink | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The last line that is stored. */
  private place: ChainPlace | undefined;
  private last = 0;
  private writing: Promise<void> = Promise.resolve();

  /** @throws Error where the file cannot be opened */
  constructor(options: CheckpointOptions) {
    this.options = options;
    if (options.file !== undefined) this.sink = new FileSink({ path: options.file, durable: false });
  }

  /** Lines are stored up to this place: a checkpoint follows within the configured time. */
  due(place: ChainPlace | undefined): void {
    this.place = place;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.write();
    }, this.options.everyMs).unref();
  }

  /** Writes the last checkpoint. @param stored false where lines of the chain are not stored: nothing is signed then */
  async close(stored: boolean): Promise<void> {
    clearTimeout(this.timer);
    if (stored) this.write();
    await this.writing;
    await this.sink?.close();
  }

  private write(): void {
    const { place } = this;
    if (place === undefined || place.seq === this.last) return;
    this.last = place.seq;
    const { keys, log } = this.options;
    const { writer, epoch, seq, mac } = place;
    const checkpoint: Checkpoint = { writer, epoch, seq, mac, signature: keys.signatureOf(place) };
    const { sink } = this;
    if (sink === undefined) {
      log.info('Audit checkpoint', { ...checkpoint });
      return;
    }
    const line = Buffer.from(`${JSON.stringify({ time: new Date().toISOString(), ...checkpoint })}\n`);
    this.writing = this.writing
      .then(() => sink.write(line, false))
      .catch((error: unknown) => log.error('Audit checkpoint failed', { reason: messageOf(error) }));
  }
}

const member = /"?\b(writer|epoch|seq|mac|signature)"?[:=]"?([\w.-]+)/g;

/** Reads a checkpoint from a line of a checkpoint file, or of the log in either form; undefined where there is none. */
export function readCheckpoint(line: string): Checkpoint | undefined {
  if (!line.includes('signature')) return undefined;
  const found = new Map<string, string>();
  for (const [, name = '', value = ''] of line.matchAll(member)) found.set(name, value);
  const [writer, epoch, seq, mac, signature] = ['writer', 'epoch', 'seq', 'mac', 'signature'].map((name) =>
    found.get(name),
  );
  if (writer === undefined || epoch === undefined || mac === undefined || signature === undefined)
    return undefined;
  return { writer, epoch, seq: Number(seq), mac, signature };
}

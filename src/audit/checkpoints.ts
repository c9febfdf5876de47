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

/** The message of a checkpoint in the log. */
const checkpointMessage = 'Audit checkpoint';

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
      log.info(checkpointMessage, { ...checkpoint });
      return;
    }
    const line = Buffer.from(`${JSON.stringify({ time: new Date().toISOString(), ...checkpoint })}\n`);
    this.writing = this.writing
      .then(() => sink.write(line, false))
      .catch((error: unknown) => log.error('Audit checkpoint failed', { reason: messageOf(error) }));
  }
}

const forms = {
  writer: /^[\w.-]{1,64}$/,
  epoch: /^[0-9a-f]{16}$/,
  seq: /^\d{1,15}$/,
  mac: /^[\w-]{43}$/,
  signature: /^[\w-]{43}$/,
} as const;
const memberNames: ReadonlySet<string> = new Set(['time', ...Object.keys(forms)]);

/** The time and the level of the gateway's own log as text. A collector may write something before it. */
const textStart = /(?:^|\s)\d{4}-\d\d-\d\dT[\d:.]+Z (?:DEBUG|INFO|WARN|ERROR) +/;
/** The checkpoint as the log has it, up to the end of the line. */
const textForm =
  /^Audit checkpoint (?:[\w.-]+=\S+ )*?writer=(\S+) epoch=(\S+) seq=(\S+) mac=(\S+) signature=(\S+)$/;

/**
 * Reads a checkpoint from a line of a checkpoint file, or of the log in either form; undefined where there is none. The log
 * has texts of clients, too, so a line with all the names need not be a checkpoint.
 */
export function readCheckpoint(line: string): Checkpoint | undefined {
  if (!line.includes('signature')) return undefined;
  const start = textStart.exec(line);
  if (start !== null) {
    const [, writer, epoch, seq, mac, signature] =
      textForm.exec(line.slice(start.index + start[0].length)) ?? [];
    return checkpointOf({ writer, epoch, seq, mac, signature });
  }
  const members = objectIn(line);
  if (members === undefined) return undefined;
  const isLogged = members['message'] === checkpointMessage;
  if (!isLogged && !Object.keys(members).every((name) => memberNames.has(name))) return undefined;
  return checkpointOf(members);
}

/** The JSON object that ends a line. A collector may write something before it. */
function objectIn(line: string): Readonly<Record<string, unknown>> | undefined {
  const start = line.indexOf('{');
  if (start === -1) return undefined;
  try {
    // A text that begins with a brace is an object.
    return JSON.parse(line.slice(start)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function checkpointOf(members: Readonly<Record<string, unknown>>): Checkpoint | undefined {
  const textOf = (name: keyof typeof forms): string | undefined => {
    const value = String(members[name]);
    return forms[name].test(value) ? value : undefined;
  };
  const [writer, epoch, seq] = [textOf('writer'), textOf('epoch'), textOf('seq')];
  const [mac, signature] = [textOf('mac'), textOf('signature')];
  if (writer === undefined || epoch === undefined || seq === undefined) return undefined;
  if (mac === undefined || signature === undefined) return undefined;
  return { writer, epoch, seq: Number(seq), mac, signature };
}

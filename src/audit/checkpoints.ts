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
  /** When the sink had stored the line, in milliseconds since the epoch. Older gateways did not say it. */
  readonly stored?: number | undefined;
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
  private storedAt = 0;
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
    this.storedAt = Date.now();
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
    const stored = new Date(this.storedAt).toISOString();
    const checkpoint = { stored, writer, epoch, seq, mac, signature: keys.signatureOf(place) };
    const { sink } = this;
    if (sink === undefined) {
      log.info(checkpointMessage, checkpoint);
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
const memberNames: ReadonlySet<string> = new Set(['time', 'stored', ...Object.keys(forms)]);

/** The time and the level of the gateway's own log as text. A collector may write something before it. */
const textStart = /(?:^|\s)\d{4}-\d\d-\d\dT[\d:.]+Z (?:DEBUG|INFO|WARN|ERROR) +/;
/** The checkpoint as the log has it, up to the end of the line. */
const textForm =
  /^Audit checkpoint (?:[\w.-]+=\S+ )*?(?:stored=(\S+) )?writer=(\S+) epoch=(\S+) seq=(\S+) mac=(\S+) signature=(\S+)$/;

/** Colours, which a collector may add. The gateway escapes those of clients. */
const colours = /\u001b\[[\d;]*m/g;
/** A container runtime (CRI) has split a longer line, and this is not its last piece. */
const splitLine = /^\S+ (?:stdout|stderr) P /;

/**
 * Reads a checkpoint from a line of a checkpoint file, or of the log in either form; undefined where there is none. A
 * collector may have put the line of the log into a JSON object. The log has texts of clients, too, so a line with all the
 * names need not be a checkpoint.
 */
export function readCheckpoint(line: string): Checkpoint | undefined {
  if (!line.includes('signature')) return undefined;
  const read = readLine(line);
  if (read === undefined || !('members' in read)) return read;
  const { members } = read;
  const own = checkpointIn(members);
  if (own !== undefined) return own;
  const wrapped = wrappedLine(members);
  const inner = wrapped === undefined ? undefined : readLine(wrapped);
  return inner !== undefined && 'members' in inner ? checkpointIn(inner.members) : inner;
}

type Members = Readonly<Record<string, unknown>>;

/** Reads a line as text or as JSON. The form that begins first counts: texts of clients stand behind the beginning. */
function readLine(coloured: string): Checkpoint | { readonly members: Members } | undefined {
  const line = coloured.replaceAll(colours, '');
  if (splitLine.test(line)) return undefined;
  const start = textStart.exec(line);
  const brace = line.indexOf('{');
  if (brace !== -1 && (start === null || brace < start.index)) {
    const members = objectIn(line.slice(brace));
    if (members !== undefined) return { members };
  }
  if (start === null) return undefined;
  const [, stored, writer, epoch, seq, mac, signature] =
    textForm.exec(line.slice(start.index + start[0].length)) ?? [];
  return checkpointOf({ stored, writer, epoch, seq, mac, signature });
}

/** @param text begins with a brace, so JSON in it is an object */
function objectIn(text: string): Members | undefined {
  try {
    return JSON.parse(text) as Members;
  } catch {
    return undefined;
  }
}

/**
 * The line that a collector has put into an object: Docker, Fluent Bit and Fluentd name it `log`, Vector and others
 * `message`. A line of the gateway itself is no such object, because its fields may hold texts of clients.
 */
function wrappedLine(members: Members): string | undefined {
  // Every line of the log has a level, and every line of the access log a duration.
  if ('level' in members || 'durationMs' in members) return undefined;
  // A client could make a piece of a long line look like a line. Only the last piece has the line break.
  if (members['logtag'] === 'P') return undefined;
  const { log, message } = members;
  if (typeof log === 'string') return isOfDocker(members) && !log.endsWith('\n') ? undefined : log.trimEnd();
  return typeof message === 'string' ? message.trimEnd() : undefined;
}

const dockerNames: ReadonlySet<string> = new Set(['log', 'stream', 'time', 'attrs']);
const isOfDocker = (members: Members): boolean => Object.keys(members).every((name) => dockerNames.has(name));

function checkpointIn(members: Members): Checkpoint | undefined {
  const isLogged = members['message'] === checkpointMessage;
  if (!isLogged && !Object.keys(members).every((name) => memberNames.has(name))) return undefined;
  return checkpointOf(members);
}

function checkpointOf(members: Members): Checkpoint | undefined {
  const textOf = (name: keyof typeof forms): string | undefined => {
    const value = String(members[name]);
    return forms[name].test(value) ? value : undefined;
  };
  const [writer, epoch, seq] = [textOf('writer'), textOf('epoch'), textOf('seq')];
  const [mac, signature] = [textOf('mac'), textOf('signature')];
  if (writer === undefined || epoch === undefined || seq === undefined) return undefined;
  if (mac === undefined || signature === undefined) return undefined;
  const stored = Date.parse(String(members['stored']));
  const place = { writer, epoch, seq: Number(seq), mac, signature };
  return Number.isNaN(stored) ? place : { ...place, stored };
}

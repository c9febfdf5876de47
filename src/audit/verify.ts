import { ChainKeys, type SealedLine } from './chain.ts';
import { readCheckpoint, type Checkpoint } from './checkpoints.ts';
import { EpochCheck, madeAt, ownMembers, type LinePlace, type Problem } from './epochCheck.ts';
import { fileLines } from './fileLines.ts';
import { filesInOrder } from './filesInOrder.ts';
import { isPiece, wholeLineIn } from './wholeLine.ts';

export interface VerifyOptions {
  /** Files of the stream, in any order. */
  readonly files: readonly string[];
  /** The content of the key file. */
  readonly key: Buffer;
  /** Files of checkpoints, or logs that have them. */
  readonly checkpoints: readonly string[];
  /** Older files were removed: lines before the first one of each epoch are not expected. */
  readonly partial: boolean;
}

/** A gap that the stream itself explains: lines may be missing there. */
export interface Gap {
  readonly writer: string;
  readonly epoch: string;
  /** The last line before the gap; for `begin` the first line after it. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /**
   * `begin`: the first lines were removed, and the epoch does not go on in the oldest file. `end`: the writer ended without
   * its last line. `running`: no line says that it has ended, and no later run follows.
   */
  readonly kind: 'begin' | 'end' | 'running' | 'lost';
  /** Lines that the stream counts as lost. */
  readonly lost: number;
}

/** A line, and a message about it. */
export interface Note {
  readonly at: LinePlace;
  readonly message: string;
}

export interface Verification {
  readonly lines: number;
  readonly epochs: readonly EpochCheck[];
  /** In the order in which they show, those of the end last. */
  readonly problems: readonly Problem[];
  /** Lines that stand there again, alike: they say nothing new. */
  readonly copies: readonly Note[];
  /** Lines of a part whose content nothing proves: their codes cover lines that are not there. */
  readonly unchecked: readonly Note[];
  readonly gaps: readonly Gap[];
  /** Intents without an outcome. */
  readonly unfinished: number;
  /** Places of pieces of lines, which a full disk or a crash leaves behind. */
  readonly pieces: readonly LinePlace[];
  readonly checkpoints: number;
  /** Files of checkpoints in which none was found, while other files have some. */
  readonly withoutCheckpoint: readonly string[];
}

/**
 * Verifies the chains of all writers over all files.
 * @throws Error where a file cannot be read
 */
export async function verifyFiles(options: VerifyOptions): Promise<Verification> {
  const check = new Check(options);
  for (const file of options.checkpoints) {
    const before = check.checkpoints;
    for await (const { text, at } of linesOf(file)) check.checkpoint(text, at);
    if (check.checkpoints === before) check.withoutCheckpoint.push(file);
  }
  for (const file of await filesInOrder(options.files))
    for await (const { text, at } of linesOf(file)) check.line(text, at);
  return check.result();
}

async function* linesOf(file: string): AsyncGenerator<{ readonly text: string; readonly at: LinePlace }> {
  let line = 0;
  for await (const text of fileLines(file)) {
    line++;
    if (text !== '') yield { text, at: { file, line } };
  }
}

class Check {
  private readonly options: VerifyOptions;
  private readonly keys: ChainKeys;
  private readonly epochs = new Map<string, EpochCheck>();
  private readonly problems: Problem[] = [];
  /** Checkpoints by epoch and line. */
  private readonly expected = new Map<string, Map<number, Checkpoint>>();
  private readonly copies: Note[] = [];
  private readonly unchecked: Note[] = [];
  private readonly intents = new Set<string>();
  private oldestFile: string | undefined;
  /** No line of the oldest file was made later. */
  private oldestFileEnd = 0;
  private lines = 0;
  private readonly pieces: LinePlace[] = [];
  checkpoints = 0;
  /** Files of checkpoints in which none was found. */
  readonly withoutCheckpoint: string[] = [];

  constructor(options: VerifyOptions) {
    this.options = options;
    this.keys = new ChainKeys(options.key);
  }

  checkpoint(text: string, at: LinePlace): void {
    const found = readCheckpoint(text);
    if (found === undefined) return;
    this.checkpoints++;
    if (this.keys.signatureOf(found) !== found.signature) {
      this.problems.push({ kind: 'checkpoint', at, message: 'the signature of the checkpoint is wrong' });
      return;
    }
    let ofEpoch = this.expected.get(found.epoch);
    if (ofEpoch === undefined) this.expected.set(found.epoch, (ofEpoch = new Map<number, Checkpoint>()));
    ofEpoch.set(found.seq, found);
  }

  line(text: string, at: LinePlace): void {
    const found = wholeLineIn(text);
    const other = found === undefined ? text : found.before;
    if (isPiece(other)) {
      if (other !== '') this.pieces.push(at);
    } else this.problems.push({ kind: 'foreign', at, message: 'a text that has no place in a chain' });
    if (found !== undefined) this.sealed(found.line, at);
  }

  private sealed(sealed: SealedLine, at: LinePlace): void {
    const { writer, epoch, seq, mac, content } = sealed;
    this.oldestFile ??= at.file;
    if (at.file === this.oldestFile) this.oldestFileEnd = Math.max(this.oldestFileEnd, madeAt(content));
    let check = this.epochs.get(epoch);
    if (check === undefined) {
      check = new EpochCheck(writer, epoch, this.keys.ofEpoch(writer, epoch));
      this.epochs.set(epoch, check);
    }
    const before = check.problems.length;
    if (!check.take(sealed, at)) {
      this.copies.push({ at, message: `copy of line ${seq} of ${writer} epoch ${epoch}` });
      return;
    }
    this.lines++;
    this.problems.push(...check.problems.slice(before));
    const known = this.expected.get(epoch)?.get(seq);
    if (known !== undefined && known.mac !== mac)
      this.problems.push({
        kind: 'checkpoint',
        at,
        message: `line ${seq} of ${writer} epoch ${epoch} differs from its checkpoint: the chain was computed anew`,
      });
    this.pair(content);
  }

  result(): Verification {
    const gaps: Gap[] = [];
    const named = new Map<string, { readonly seq: number; readonly mac: string; readonly by: EpochCheck }>();
    for (const check of this.epochs.values()) {
      const { previous } = check;
      if (previous !== undefined) named.set(previous.epoch, { ...previous, by: check });
    }
    for (const check of this.epochs.values()) this.finish(check, named.get(check.epoch), gaps);
    for (const [epoch, { by, seq }] of named)
      if (!this.epochs.has(epoch) && !this.mayPrecedeFiles(by))
        this.problems.push({
          kind: 'missing',
          at: undefined,
          message: `all lines of ${by.writer} epoch ${epoch} are missing: epoch ${by.epoch} names line ${seq} of it`,
        });
    for (const [epoch, places] of this.expected) this.compare(epoch, places);
    if (this.lines === 0)
      this.problems.push({ kind: 'missing', at: undefined, message: 'the files have no line of a chain' });
    const { checkpoints } = this.options;
    // A log of a quiet day has no checkpoint, but others have some.
    if (this.checkpoints === 0 && checkpoints.length > 0)
      this.problems.push({
        kind: 'checkpoint',
        at: undefined,
        message: `no checkpoint found in ${checkpoints.join(', ')}: nothing shows whether the end of the stream was cut off`,
      });
    return {
      lines: this.lines,
      epochs: [...this.epochs.values()],
      problems: this.problems,
      copies: this.copies,
      unchecked: this.unchecked,
      gaps,
      unfinished: this.intents.size,
      pieces: this.pieces,
      checkpoints: this.checkpoints,
      withoutCheckpoint: this.checkpoints === 0 ? [] : this.withoutCheckpoint,
    };
  }

  private finish(
    check: EpochCheck,
    next: { readonly seq: number; readonly mac: string; readonly by: EpochCheck } | undefined,
    gaps: Gap[],
  ): void {
    const { writer, epoch, last, endTime: time } = check;
    const of = `of ${writer} epoch ${epoch}`;
    for (const { from, to, at } of check.missing.toSorted((a, b) => a.from - b.from))
      if (!(this.options.partial && from === 1 && to === check.first - 1))
        this.problems.push({ kind: 'missing', at, message: `${linesText(from, to)} ${of} missing` });
    if (this.options.partial && check.first > 1) this.finishPart(check, next?.seq === last, gaps);
    if (next !== undefined && next.seq > last)
      this.problems.push({
        kind: 'missing',
        at: undefined,
        message: `${linesText(last + 1, next.seq)} ${of} missing at its end: epoch ${next.by.epoch} names line ${next.seq}`,
      });
    if (next?.seq === last && next.mac !== check.lastMac)
      this.problems.push({
        kind: 'altered',
        at: undefined,
        message: `line ${last} ${of} is not the one that epoch ${next.by.epoch} names`,
      });
    if (check.lost > 0) gaps.push({ writer, epoch, seq: last, time, kind: 'lost', lost: check.lost });
    if (check.stopped) return;
    const isFollowed =
      next !== undefined ||
      [...this.epochs.values()].some(
        (other) => other.writer === writer && other.startTime > time && other !== check,
      );
    gaps.push({ writer, epoch, seq: last, time, kind: isFollowed ? 'end' : 'running', lost: 0 });
  }

  /**
   * May all lines of the epoch that `next` names stand in files that were removed? The named line is the last one of the
   * writer before `next`, and stands in the same file, or in the one before it.
   */
  private mayPrecedeFiles(next: EpochCheck): boolean {
    if (!this.options.partial || next.firstAt?.file !== this.oldestFile) return false;
    // Epochs have the order of their first lines.
    for (const other of this.epochs.values()) {
      if (other === next) return true;
      if (other.writer === next.writer) return false;
    }
    return true;
  }

  /** An epoch without its beginning. @param isNamed the next epoch names its last line */
  private finishPart(check: EpochCheck, isNamed: boolean, gaps: Gap[]): void {
    const { writer, epoch, first, firstAt: at, startTime: time } = check;
    const isSigned = this.expected.get(epoch)?.get(check.last)?.mac === check.lastMac;
    // The code of the first line covers lines that are not there, so a forger without the key could have made it.
    if (!check.proven && !isNamed && !isSigned)
      this.problems.push({
        kind: 'foreign',
        at,
        message: `nothing proves line ${first} of ${writer} epoch ${epoch}: no line follows it, and no checkpoint names it`,
      });
    if (at !== undefined)
      this.unchecked.push({
        at,
        message: `the code of line ${first} of ${writer} epoch ${epoch} covers a line that is not there`,
      });
    if (at?.file !== this.oldestFile) gaps.push({ writer, epoch, seq: first, time, kind: 'begin', lost: 0 });
  }

  private compare(epoch: string, places: ReadonlyMap<number, Checkpoint>): void {
    const check = this.epochs.get(epoch);
    let highest = 0;
    for (const seq of places.keys()) if (seq > highest) highest = seq;
    const { writer = '', stored = 0 } = places.get(highest) ?? {};
    if (check === undefined) {
      // The log of one stream may go back further than its files.
      if (!this.options.partial || stored > this.oldestFileEnd)
        this.problems.push({
          kind: 'missing',
          at: undefined,
          message: `all lines of ${writer} epoch ${epoch} are missing: a checkpoint names line ${highest} of it`,
        });
    } else if (highest > check.last)
      this.problems.push({
        kind: 'missing',
        at: undefined,
        message: `${linesText(check.last + 1, highest)} of ${writer} epoch ${epoch} missing at its end: a checkpoint names line ${highest}`,
      });
  }

  private pair(content: string): void {
    const [, phase, uid] =
      /"mcp\.phase":"(intent|outcome)","metadata\.correlation_uid":"([\w.]+)"/.exec(ownMembers(content)) ??
      [];
    if (uid === undefined) return;
    if (phase === 'intent') this.intents.add(uid);
    else this.intents.delete(uid);
  }
}

const linesText = (from: number, to: number): string =>
  from === to ? `line ${from}` : `lines ${from} to ${to}`;

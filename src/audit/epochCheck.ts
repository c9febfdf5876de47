import { hash, type KeyObject } from 'node:crypto';
import { macOf, type SealedLine } from './chain.ts';

/** A place in a file. */
export interface LinePlace {
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
}

export type ProblemKind = 'altered' | 'missing' | 'reordered' | 'repeated' | 'foreign' | 'checkpoint';

/** A contradiction that the gateway itself never causes. */
export interface Problem {
  readonly kind: ProblemKind;
  /** The place where it shows. */
  readonly at: LinePlace | undefined;
  readonly message: string;
}

/** Lines that are kept as digests, to recognise a line that stands there twice. */
const maxRemembered = 10_000;
const maxMissing = 10_000;

/** Follows the lines of one run of a writer, in the order of the files. */
export class EpochCheck {
  readonly writer: string;
  readonly epoch: string;
  readonly problems: Problem[] = [];
  /** Numbers of lines that are missing so far, from the first to the last. */
  readonly missing: { from: number; to: number; readonly at: LinePlace | undefined }[] = [];
  first = 0;
  last = 0;
  lastMac = '';
  lines = 0;
  lost = 0;
  stopped = false;
  /** The code of a line fits to the line before it, so a writer with the key has written both. */
  proven = false;
  /** The place of the first line. */
  firstAt: LinePlace | undefined;
  startTime = 0;
  endTime = 0;
  previous: { readonly epoch: string; readonly seq: number; readonly mac: string } | undefined;
  private readonly key: KeyObject;
  /** Digests of the last lines, and of the first line of each file: copies of a file begin with its first line. */
  private readonly recent = new Map<number, string>();
  private readonly firsts = new Map<number, string>();
  private file = '';
  /** The last line that stood there again. */
  private again: { readonly seq: number; readonly mac: string } = { seq: 0, mac: '' };

  constructor(writer: string, epoch: string, key: KeyObject) {
    this.writer = writer;
    this.epoch = epoch;
    this.key = key;
  }

  /** @returns false for a copy of a line that was there before */
  take(line: SealedLine, at: LinePlace): boolean {
    const { seq, mac } = line;
    const name = `line ${seq} of ${this.writer} epoch ${this.epoch}`;
    if (seq <= this.last) return this.takeLate(line, at, name);
    this.lines++;
    if (this.first === 0) {
      this.first = seq;
      this.firstAt = at;
      this.startTime = timeOf(line.content);
    }
    const follows = seq === this.last + 1;
    if (!follows) this.noteMissing(this.last + 1, seq - 1, at);
    // The code of a line after a gap covers lines that are not there.
    else if (macOf(this.key, this.lastMac, line.content) === mac) this.proven = true;
    else this.problems.push({ kind: 'altered', at, message: `${name} is altered` });
    this.last = seq;
    this.lastMac = mac;
    this.endTime = timeOf(line.content);
    this.remember(line, at);
    this.note(line.content, seq);
    return true;
  }

  private takeLate(line: SealedLine, at: LinePlace, name: string): boolean {
    const { seq } = line;
    const gap = this.missing.find(({ from, to }) => seq >= from && seq <= to);
    if (gap === undefined) {
      const problem = this.compareAgain(line);
      // A collector may get a batch twice, when its answer was lost.
      if (problem === undefined) return false;
      this.problems.push({ kind: 'repeated', at, message: `${name} ${problem}` });
      return true;
    }
    this.lines++;
    this.remember(line, at);
    this.missing.splice(this.missing.indexOf(gap), 1);
    if (seq > gap.from) this.missing.push({ from: gap.from, to: seq - 1, at: gap.at });
    if (seq < gap.to) this.missing.push({ from: seq + 1, to: gap.to, at: gap.at });
    this.problems.push({ kind: 'reordered', at, message: `${name} stands after line ${this.last}` });
    return true;
  }

  private noteMissing(from: number, to: number, at: LinePlace): void {
    if (this.missing.length < maxMissing) this.missing.push({ from, to, at });
  }

  /** Compares a line with the one of its number that stood there before. @returns undefined for a copy */
  private compareAgain(line: SealedLine): string | undefined {
    const { seq, mac, content } = line;
    const { again } = this;
    this.again = { seq, mac };
    const known = this.recent.get(seq) ?? this.firsts.get(seq);
    if (known !== undefined)
      return known === digestOf(line) ? undefined : 'stands there twice, with another content';
    // The code proves a line whose digest is gone. It needs the code of the line before it.
    if (seq !== again.seq + 1) return 'stands there again, too late to compare it';
    return macOf(this.key, again.mac, content) === mac
      ? undefined
      : 'stands there again, and its code does not fit to the line before it';
  }

  private remember(line: SealedLine, { file }: LinePlace): void {
    const digest = digestOf(line);
    if (file !== this.file) {
      this.file = file;
      this.firsts.set(line.seq, digest);
    }
    this.recent.set(line.seq, digest);
    if (this.recent.size <= maxRemembered) return;
    for (const oldest of this.recent.keys()) {
      this.recent.delete(oldest);
      break;
    }
  }

  private note(content: string, seq: number): void {
    const operation = /"api\.operation":"(audit\.\w+)"/.exec(ownMembers(content))?.[1];
    this.stopped = operation === 'audit.stop';
    if (operation === 'audit.lost') this.lost += Number(/"audit\.lost_lines":(\d+)/.exec(content)?.[1] ?? 0);
    if (operation !== 'audit.start' || seq !== 1) return;
    const [, epoch, number, mac] =
      /"previous\.epoch":"([0-9a-f]{16})","previous\.seq":(\d+),"previous\.mac":"([\w-]{43})"/.exec(
        content,
      ) ?? [];
    if (epoch !== undefined && mac !== undefined) this.previous = { epoch, seq: Number(number), mac };
  }
}

const digestOf = ({ content, mac }: SealedLine): string => hash('sha256', `${mac}\n${content}`, 'base64url');

/** The members before the arguments. Only arguments are JSON of clients: their other texts hold no bare quote. */
export const ownMembers = (content: string): string => content.split(',"mcp.arguments":', 1)[0]!;

export const timeOf = (content: string): number => Number(/^\{"time":(\d{1,15})/.exec(content)?.[1] ?? 0);

const duration = /,"duration":([\d.]+)(?:,"bytes\.out":\d+)?(?:,"chain\.\w+":(?:"[\w.-]+"|\d+))+$/;

/** The time at which the line was made, in milliseconds since the epoch: the end of its operation. */
export const madeAt = (content: string): number =>
  timeOf(content) + Math.ceil(Number(duration.exec(content)?.[1] ?? 0));

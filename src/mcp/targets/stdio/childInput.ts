import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { handleOf } from './pipeHandle.ts';

/** Characters that the pipe gets at a time: it turns them into bytes in one turn of the event loop. */
const pieceLength = 262_144;

/** The standard input of a child: many short lines go there with one system call, long ones in pieces. */
export class ChildInput {
  private readonly pipe: Writable;
  private outbox = '';
  /** A long text, of which the pipe has everything before `at`. */
  private long = '';
  private at = 0;

  constructor(pipe: Writable) {
    this.pipe = pipe;
  }

  /** Bytes (about) that the child has not taken. */
  get backlog(): number {
    return this.pipe.writableLength + this.long.length - this.at + this.outbox.length;
  }

  /** Queues one message until the next `flush`. */
  write(line: string): void {
    this.outbox += `${line}\n`;
  }

  /** Writes what is queued, behind a long text that is still being written. */
  flush(): void {
    if (this.long !== '' || this.outbox === '') return;
    const text = this.outbox;
    this.outbox = '';
    if (text.length > pieceLength) {
      this.long = text;
      this.piece();
    } else if (this.pipe.writable) this.writeShort(text);
  }

  /** The pipe gets what it has room for at once, and the stream keeps the rest. */
  private writeShort(text: string): void {
    const { pipe } = this;
    const written = pipe.writableLength === 0 ? writeNow(pipe, text) : 0;
    if (written === 0) pipe.write(text);
    else if (written < Buffer.byteLength(text)) pipe.write(Buffer.from(text).subarray(written));
  }

  /** Writes everything at once and ends the input. */
  end(): void {
    const rest = this.long.slice(this.at) + this.outbox;
    this.clear();
    this.outbox = '';
    if (rest !== '' && this.pipe.writable) this.pipe.write(rest);
    this.pipe.end();
  }

  private clear(): void {
    this.long = '';
    this.at = 0;
  }

  private readonly piece = (): void => {
    const { long, at, pipe } = this;
    // Everything was written at the end meanwhile.
    if (long === '') return;
    if (!pipe.writable) {
      this.clear();
      return;
    }
    const end = pieceEnd(long, at);
    const piece = long.slice(at, end);
    if (end < long.length) {
      this.at = end;
      pipe.write(piece, () => setImmediate(this.piece));
      return;
    }
    this.clear();
    pipe.write(piece);
    this.flush();
  };
}

/** The end of a piece, which never splits a surrogate pair. */
function pieceEnd(text: string, at: number): number {
  const end = at + pieceLength;
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

/** @returns the bytes that the pipe has taken: 0 where it is full, or broken, or only its stream can write */
function writeNow(pipe: Writable, text: string): number {
  // A stream that is destroyed has no handle: its number may be that of another file by now.
  const fd = handleOf(pipe)?.fd ?? -1;
  if (fd < 0) return 0;
  try {
    return writeSync(fd, text);
  } catch {
    return 0;
  }
}

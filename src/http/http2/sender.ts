import { FRAME_DEFAULT, WINDOW_DEFAULT } from './codes.ts';
import type { Output } from './output.ts';

/** Bytes that may wait for the connection at a time; the rest waits in its stream. */
const ROOM = 131_072;

const EMPTY = Buffer.alloc(0);

/** A stream that has bytes to send. */
export interface SendingStream {
  readonly id: number;
  /** Bytes that the client takes of it at present. */
  sendWindow: number;
  /** Is it among those that wait for their turn? */
  waiting: boolean;
  /** Its turn: sends one frame. @returns true when it has more to send and may */
  turn(): boolean;
}

/** Lets the streams of a connection send their bodies, by turns, as far as the client and the connection take them. */
export class Sender {
  /** Bytes that the client takes of all streams together (RFC 9113 §6.9). */
  window = WINDOW_DEFAULT;
  private readonly output: Output;
  private readonly unsent: () => number;
  private readonly ring: SendingStream[] = [];
  private running = false;

  /** @param unsent bytes that were handed on and are not out yet */
  constructor(output: Output, unsent: () => number) {
    this.output = output;
    this.unsent = unsent;
  }

  private get hasRoom(): boolean {
    return this.output.pending + this.unsent() < ROOM;
  }

  /** Sends as much as goes at once where nobody else waits. @returns the offset behind what was sent */
  write(stream: SendingStream, bytes: Buffer, from: number, to: number, ends: boolean): number {
    if (from === to) {
      if (ends) this.output.data(stream.id, EMPTY, 0, 0, true);
      return to;
    }
    let at = from;
    while (at < to && this.ring.length === 0 && this.hasRoom) {
      const next = this.frame(stream, bytes, at, to, ends);
      if (next === at) break;
      at = next;
    }
    return at;
  }

  /** Sends one frame, as far as windows allow. @returns the offset behind what was sent */
  frame(stream: SendingStream, bytes: Buffer, from: number, to: number, ends: boolean): number {
    const length = Math.min(to - from, FRAME_DEFAULT, stream.sendWindow, this.window);
    if (length <= 0) return from;
    stream.sendWindow -= length;
    this.window -= length;
    this.output.data(stream.id, bytes, from, from + length, ends && from + length === to);
    return from + length;
  }

  /** A stream has more to send: it gets its turn when there is room for it. */
  wait(stream: SendingStream): void {
    if (stream.waiting || stream.sendWindow <= 0) return;
    stream.waiting = true;
    this.ring.push(stream);
  }

  /** Sends a frame of each waiting stream, and again, while there is room. */
  run(): void {
    if (this.running) return;
    this.running = true;
    while (this.ring.length > 0 && this.window > 0 && this.hasRoom) {
      const stream = this.ring.shift() as SendingStream;
      stream.waiting = false;
      if (stream.turn()) this.wait(stream);
    }
    this.running = false;
  }

  forget(stream: SendingStream): void {
    if (!stream.waiting) return;
    stream.waiting = false;
    this.ring.splice(this.ring.indexOf(stream), 1);
  }
}

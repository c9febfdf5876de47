import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Changes } from './changes.ts';
import { frame, PREFACE, TYPE } from '../../../src/http/frame.testing.ts';
import type { StreamCase } from './case.ts';

/** The end of a stream: the content of its answer, or a reset. */
export type StreamEnd = { readonly content: string } | { readonly reset: number };

const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const FRAME_MOST = 16_384;

/** Fields as literals that are never indexed (RFC 7541 §6.2.3): any bytes can be sent, and no state is kept. */
function fieldBlock(fields: StreamCase['fields']): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) {
    parts.push(Buffer.from([0x10]));
    for (const text of [name, value]) {
      const bytes = Buffer.from(text, 'latin1');
      parts.push(integer(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/** A length in seven bits and what does not fit behind it (RFC 7541 §5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** A client of HTTP/2 that sends what no library would. */
export class Streams {
  ended = false;
  private readonly socket: Socket;
  private readonly changes = new Changes();
  private pending = Buffer.alloc(0);
  private readonly content = new Map<number, string>();
  private readonly ends = new Map<number, StreamEnd>();
  private next = 1;

  private constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const end = (): void => {
      this.ended = true;
      this.changes.changed();
    };
    for (const event of ['end', 'close', 'error']) this.socket.on(event, end);
    this.socket.on('data', (bytes: Buffer) => {
      this.pending = Buffer.concat([this.pending, bytes]);
      this.read();
      this.changes.changed();
    });
  }

  static async open(port: number): Promise<Streams> {
    const streams = new Streams(port);
    await once(streams.socket, 'connect');
    streams.socket.write(Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0)]));
    return streams;
  }

  /** Opens the next stream. */
  send({ fields, data, trailers }: Pick<StreamCase, 'fields' | 'data' | 'trailers'>): void {
    const id = this.next;
    this.next += 2;
    const last = trailers === undefined;
    const frames = [...this.head(id, fields, data === undefined && last)];
    for (const [i, text] of (data ?? []).entries()) {
      const ends = last && i + 1 === data?.length;
      frames.push(frame(TYPE.data, ends ? END_STREAM : 0, id, Buffer.from(text, 'latin1')));
    }
    if (trailers !== undefined) frames.push(...this.head(id, trailers, true));
    this.socket.write(Buffer.concat(frames));
  }

  endOf(stream: number): StreamEnd | undefined {
    return this.ends.get(stream);
  }

  async until(condition: () => boolean, ms: number): Promise<void> {
    await this.changes.until(() => condition() || this.ended, ms);
  }

  close(): void {
    this.socket.destroy();
  }

  private *head(id: number, fields: StreamCase['fields'], ends: boolean): Generator<Buffer> {
    const block = fieldBlock(fields);
    for (let at = 0; at === 0 || at < block.length; at += FRAME_MOST) {
      const flags = (at + FRAME_MOST >= block.length ? END_HEADERS : 0) | (at === 0 && ends ? END_STREAM : 0);
      yield frame(
        at === 0 ? TYPE.headers : TYPE.continuation,
        flags,
        id,
        block.subarray(at, at + FRAME_MOST),
      );
    }
  }

  private read(): void {
    while (this.pending.length >= 9) {
      const length = this.pending.readUIntBE(0, 3);
      if (this.pending.length < 9 + length) return;
      const [type, flags] = [this.pending[3] as number, this.pending[4] as number];
      const stream = this.pending.readUInt32BE(5);
      const payload = this.pending.subarray(9, 9 + length);
      this.take(type, flags, stream, payload);
      this.pending = this.pending.subarray(9 + length);
    }
  }

  private take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === TYPE.settings && (flags & ACK) === 0) this.socket.write(frame(TYPE.settings, ACK, 0));
    if (type === TYPE.data)
      this.content.set(stream, (this.content.get(stream) ?? '') + payload.toString('latin1'));
    if (this.ends.has(stream)) return;
    if (type === TYPE.reset) this.ends.set(stream, { reset: payload.readUInt32BE(0) });
    if ((type === TYPE.data || type === TYPE.headers) && (flags & END_STREAM) !== 0)
      this.ends.set(stream, { content: this.content.get(stream) ?? '' });
  }
}

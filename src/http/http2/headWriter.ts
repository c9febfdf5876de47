import type { Head } from '../head.ts';
import { encodedMost, encodeFields, encodeStatus, encodeText, NO_TABLE } from '../hpack/encoder.ts';
import { FLAG, FRAME, FRAME_DEFAULT, FRAME_HEAD } from './codes.ts';
import { writeHead, type Output } from './output.ts';
import type { Trailers } from './trailers.ts';

/** Writes the heads of answers and their trailers, in as many frames as they take. */
export class HeadWriter {
  private readonly output: Output;
  private first = true;

  constructor(output: Output) {
    this.output = output;
  }

  /** A head that was parsed from `bytes`; see `ServerStream.respond`. */
  answer(
    stream: number,
    head: Head,
    bytes: Buffer,
    start: number,
    status: number,
    ends: boolean,
    except: string | undefined,
  ): void {
    const out = this.output.place(FRAME_HEAD + encodedMost(head));
    const { at } = this.output;
    const from = this.begin(out, at);
    const to = encodeFields(head, bytes, start, out, encodeStatus(status, out, from), except);
    this.finish(out, at, to, stream, ends);
  }

  status(stream: number, status: number): void {
    const out = this.output.place(FRAME_HEAD + 16);
    const { at } = this.output;
    this.finish(out, at, encodeStatus(status, out, this.begin(out, at)), stream, false);
  }

  trailers(stream: number, fields: Trailers): void {
    const most = fields.reduce((sum, [name, value]) => sum + name.length + value.length + 12, 16);
    const out = this.output.place(FRAME_HEAD + most);
    const { at } = this.output;
    let to = this.begin(out, at);
    for (const [name, value] of fields) to = encodeText(name, value, out, to);
    this.finish(out, at, to, stream, true);
  }

  /** @returns where the fields begin */
  private begin(out: Buffer, at: number): number {
    let to = at + FRAME_HEAD;
    if (this.first) out[to++] = NO_TABLE;
    this.first = false;
    return to;
  }

  private finish(out: Buffer, at: number, to: number, stream: number, ends: boolean): void {
    const length = to - at - FRAME_HEAD;
    const flags = ends ? FLAG.endStream : 0;
    if (length <= FRAME_DEFAULT) {
      writeHead(out, at, length, FRAME.headers, flags | FLAG.endHeaders, stream);
      this.output.wrote(to - at);
      return;
    }
    const block = Buffer.from(out.subarray(at + FRAME_HEAD, to));
    for (let from = 0; from < length; from += FRAME_DEFAULT) {
      const type = from === 0 ? FRAME.headers : FRAME.continuation;
      const last = from + FRAME_DEFAULT >= length ? FLAG.endHeaders : 0;
      const piece = block.subarray(from, from + FRAME_DEFAULT);
      this.output.frame(type, (from === 0 ? flags : 0) | last, stream, piece);
    }
  }
}

import { Field, ROLE } from './field.ts';
import { decodeHuffman } from './huffman.ts';
import { FieldTable } from './table.ts';

/** Takes the fields of one head in their order. */
export interface FieldSink {
  field(field: Field): void;
}

/** Bounds of one head. */
export interface ListLimits {
  /** Sum of the sizes of its fields, each counted with 32 bytes more (RFC 9113 §6.5.2). */
  readonly maxBytes: number;
  readonly maxFields: number;
}

/** The result of decoding a head. */
export const DECODED = 0;
/** Beyond the limits: the sink has not got all of it, but the next head can be read. */
export const TOO_LARGE = 1;
/** No sound encoding: nothing that follows on the connection can be read (RFC 7541 §2.3.3 and others). */
export const BROKEN = 2;

/** Larger numbers mean nothing: no head is that long. */
const INTEGER_MOST = 0x0fff_ffff;

/** The output of Huffman decoding for a string; grows to the longest string seen, which a block bounds. */
let plain = Buffer.allocUnsafeSlow(8_192);

/** Reads the heads of one connection, which build on each other (RFC 7541). */
export class HpackDecoder {
  private readonly table = new FieldTable();
  private bytes: Buffer = plain;
  private at = 0;
  private end = 0;

  /** Reads one whole field block. @returns DECODED, TOO_LARGE or BROKEN */
  decode(bytes: Buffer, from: number, to: number, limits: ListLimits, sink: FieldSink): number {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
    let size = 0;
    let count = 0;
    let hasCookie = false;
    while (this.at < to) {
      const code = bytes[this.at] as number;
      if (code >>> 5 === 1) {
        // A new size for the table stands before all fields (RFC 7541 §4.2).
        if (size > 0 || !this.table.resize(this.integer(5))) return BROKEN;
        continue;
      }
      const field = code >= 128 ? this.table.get(this.integer(7)) : this.literal(code);
      if (field === undefined || this.at > to) return BROKEN;
      size += field.size;
      // Browsers send each cookie in a field of its own, and all of them are one field (RFC 9113 §8.2.3).
      if (field.role !== ROLE.cookie || !hasCookie) count++;
      hasCookie ||= field.role === ROLE.cookie;
      if (size <= limits.maxBytes && count <= limits.maxFields) sink.field(field);
    }
    if (this.at > to) return BROKEN;
    return size > limits.maxBytes || count > limits.maxFields ? TOO_LARGE : DECODED;
  }

  private literal(code: number): Field | undefined {
    const kept = (code & 0x40) !== 0;
    const index = this.integer(kept ? 6 : 4);
    const name = index === 0 ? this.string() : this.table.get(index)?.name;
    if (name === undefined) return undefined;
    const value = this.string();
    if (value === undefined) return undefined;
    const field = new Field(name, value);
    if (kept) this.table.add(field);
    return field;
  }

  /** An integer whose first bits share a byte with something else (RFC 7541 §5.1); beyond the end where it is none. */
  private integer(prefix: number): number {
    const { bytes, end } = this;
    const mask = (1 << prefix) - 1;
    let value = (bytes[this.at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.at >= end) break;
      const code = bytes[this.at++] as number;
      value += (code & 127) << shift;
      if (code < 128) return value;
    }
    this.at = end + 1;
    return INTEGER_MOST;
  }

  private string(): string | undefined {
    if (this.at >= this.end) return undefined;
    const coded = (this.bytes[this.at] as number) >= 128;
    const length = this.integer(7);
    const from = this.at;
    const to = from + length;
    if (to > this.end) return undefined;
    this.at = to;
    if (!coded) return this.bytes.toString('latin1', from, to);
    const room = Math.ceil((length * 8) / 5);
    if (room > plain.length) plain = Buffer.allocUnsafeSlow(room);
    const written = decodeHuffman(this.bytes, from, to, plain);
    return written < 0 ? undefined : plain.toString('latin1', 0, written);
  }
}

import { Field } from './field.ts';
import { staticEntries } from './staticTable.ts';

/** Bytes that a client's table may take: the default of the protocol, of which we announce no other. */
export const TABLE_BYTES = 4_096;

/** No field counts less than 32 bytes, so there are never more. */
const ROOM = TABLE_BYTES / 32;

const fixed = staticEntries.map(([name, value]) => new Field(name, value));

/** The fields that a client may name by number (RFC 7541 §2.3): the fixed ones, and its own latest ones. */
export class FieldTable {
  /** A ring: the newest field is before `next`. */
  private readonly ring: (Field | undefined)[] = [];
  private next = 0;
  private count = 0;
  private bytes = 0;
  private most = TABLE_BYTES;

  /** Bytes that the fields take at present. */
  get size(): number {
    return this.bytes;
  }

  /** @returns undefined where nothing has this number */
  get(index: number): Field | undefined {
    if (index <= fixed.length) return fixed[index - 1];
    const age = index - fixed.length;
    return age > this.count ? undefined : this.ring[(this.next - age + ROOM) % ROOM];
  }

  /** A field larger than the table empties it, and is not kept (RFC 7541 §4.4). */
  add(field: Field): void {
    this.evict(this.most - field.size);
    if (field.size > this.most) return;
    this.ring[this.next] = field;
    this.next = (this.next + 1) % ROOM;
    this.count++;
    this.bytes += field.size;
  }

  /** @returns false where the client may not have a table of so many bytes */
  resize(bytes: number): boolean {
    if (bytes > TABLE_BYTES) return false;
    this.most = bytes;
    this.evict(bytes);
    return true;
  }

  private evict(bytes: number): void {
    while (this.count > 0 && this.bytes > bytes) {
      const oldest = (this.next - this.count + ROOM) % ROOM;
      this.bytes -= (this.ring[oldest] as Field).size;
      this.ring[oldest] = undefined;
      this.count--;
    }
  }
}

import type { FieldSink } from '../hpack/decoder.ts';
import type { Field } from '../hpack/field.ts';

/** Fields behind a body, names in lower case. */
export type Trailers = readonly (readonly [name: string, value: string])[];

/** Lines of a trailer section. */
export class TrailerFields implements FieldSink {
  readonly lines: (readonly [name: string, value: string])[] = [];
  flaw: string | undefined;

  field(field: Field): void {
    const { name, value } = field;
    // No pseudo-header stands in trailers (RFC 9113 §8.1).
    if (field.flaw !== undefined || name.charCodeAt(0) === 58) this.flaw ??= field.flaw ?? name;
    else this.lines.push([name, value]);
  }
}

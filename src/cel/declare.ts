/**
 * The names that an expression may use. The caller of `compile` declares exactly what it will provide when the
 * program runs.
 */
export type Declared =
  /** A value of one CEL type (`dyn` where only the run decides). */
  | { readonly kind: 'value'; readonly type: ValueType }
  /** A map with these members and no others. */
  | { readonly kind: 'object'; readonly members: Members }
  /** A map whose members are not known beforehand (claims); those in `absent` are refused with their reason. */
  | { readonly kind: 'claims'; readonly absent: Readonly<Record<string, string>> }
  /** Header fields: names in any case, a string for one line, a list for several. */
  | { readonly kind: 'headers' }
  /** A name of the format that is not provided here; `notBuilt`: this version provides it nowhere. */
  | { readonly kind: 'absent'; readonly why: string; readonly notBuilt?: true };

export type ValueType =
  'bool' | 'int' | 'double' | 'string' | 'bytes' | 'list' | 'map' | 'google.protobuf.Duration' | 'dyn';
export type Members = Readonly<Record<string, Declared>>;

/** The reason why a source text was refused; `offset` counts UTF-16 units from its start. */
export interface CelProblem {
  readonly message: string;
  readonly offset: number;
  /** The name is known to the format, but not provided by this program. */
  readonly notBuilt: boolean;
}

/** Thrown inside this room only; `compile` returns it as data. */
export class Refusal extends Error {
  readonly offset: number;
  readonly notBuilt: boolean;

  constructor(message: string, offset: number, notBuilt = false) {
    super(message);
    this.offset = offset;
    this.notBuilt = notBuilt;
  }
}

/** What policies ask of `auth`. */

/** Where a key set comes from: exactly one of them. */
export type KeySetSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'inline'; readonly jwks: string };

/**
 * All key sets of the process, shared over snapshots and fetched in the background: `use` returns at once, and the
 * same source gives the same set for as long as somebody uses it.
 */
export interface KeySets {
  use(source: KeySetSource): KeySetLease;
  /** For admin and readiness. */
  view(): readonly KeySetView[];
  close(): void;
}

export interface KeySetLease {
  readonly set: KeySet;
  /** Gives the set back; the last one stops its refreshing. */
  release(): void;
}

export interface KeySetView {
  readonly source: string;
  readonly keys: number;
  readonly state: 'waiting' | 'ready' | 'stale';
  readonly problem: string | undefined;
}

/** A fresh-kept set of public keys. `generation` changes with every change of the keys. */
export interface KeySet {
  readonly generation: number;
  /** True once any keys were there. */
  readonly ready: boolean;
}

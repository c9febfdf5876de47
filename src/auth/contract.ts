import type { KeyObject } from 'node:crypto';
import type { Algorithm } from './algorithms.ts';

/** The parts of `auth` that policies use. */

/**
 * The source of a key set: exactly one of them. `guarded`: whoever wrote the address need not be the operator, so
 * the gateway asks neither itself nor what is around it, and follows no redirect to another server.
 */
export type KeySetSource =
  | { readonly kind: 'url'; readonly url: string; readonly guarded?: boolean }
  | DiscoveredKeys
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'inline'; readonly jwks: string };

/** The key set that the issuer's own metadata names (`jwks_uri`, RFC 8414 §2, OpenID Connect Discovery §3). */
export interface DiscoveredKeys {
  readonly kind: 'discovered';
  readonly issuer: string;
  /** Ask the OpenID Connect discovery document first (otherwise that of RFC 8414). */
  readonly openid: boolean;
  /** The usual address of the key set, for an issuer without metadata. */
  readonly derived: string;
  readonly guarded?: boolean;
}

/**
 * All key sets of the process, shared over snapshots and fetched in the background: `use` returns at once, and the
 * same source gives the same set for as long as somebody uses it.
 */
export interface KeySets {
  /** @throws Error for an inline set without a usable key */
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
  /** The last time that it was read, in milliseconds since the epoch; absent before. */
  readonly loadedAt?: number;
}

/** A fresh-kept set of public keys. `generation` changes with every change of the keys. */
export interface KeySet {
  readonly generation: number;
  /** True once any keys were there. */
  readonly ready: boolean;
  /** Every key of that id; empty where there is none. */
  find(kid: string): readonly PublicKey[];
  /** Its keys come over the network. */
  readonly remote: boolean;
  /** The ids of its keys. */
  readonly ids: readonly string[];
  /** Calls the listener after each change of the keys. @returns a function that ends the watch */
  watch(listener: () => void): () => void;
  /**
   * Fetches the set again because a token names a key that is not in it. All callers share one fetch, and there is
   * at most one in a cool-down time: then (and for sources that cannot be fetched) it returns undefined.
   * The promise never rejects.
   */
  refetch(): Promise<void> | undefined;
}

/** A vetted key and the algorithms it may be used with. */
export interface PublicKey {
  readonly kid: string;
  readonly key: KeyObject;
  readonly algorithms: ReadonlySet<Algorithm>;
}

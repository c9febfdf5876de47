import type { KeyList } from '../../../auth/index.ts';

/** A client that may log users in. */
export interface KnownClient {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** The host of the metadata document; undefined for a client that has registered itself. */
  readonly host?: string | undefined;
  /** It may log in without a proof that it is itself. */
  readonly isPublic: boolean;
  /** The keys with which it proves that it is itself; undefined where it has none. */
  readonly keys?: ClientKeys | undefined;
}

/** The keys of a client (RFC 7591 §2). */
export interface ClientKeys {
  /** The keys themselves, or their address. */
  readonly source: KeyList | string;
  /** The only algorithm of its assertions; undefined: any asymmetric one. */
  readonly algorithm: string | undefined;
}

/** The ways in which a client may prove itself at the token endpoint: not at all, or with a key of its own. */
export const tokenMethods = { none: 'none', key: 'private_key_jwt' } as const;

const longestName = 80;

/** Characters that nobody sees, and that may change the order of those around them. */
const hidden = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A name as the consent page shows it; empty for a name without a character that anybody sees. */
export const shownName = (name: string): string => name.replaceAll(hidden, '').trim().slice(0, longestName);

/** A client that may log users in. */
export interface KnownClient {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** The host of the metadata document; undefined for a client that has registered itself. */
  readonly host?: string | undefined;
}

const longestName = 80;

/** Characters that nobody sees, and that may change the order of those around them. */
const hidden = /[\p{Cc}\p{Cf}]/gu;

/** A name as the consent page shows it. */
export const shownName = (name: string): string => name.replaceAll(hidden, '').slice(0, longestName);

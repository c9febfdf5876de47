/** A client that may log users in. */
export interface KnownClient {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** The host of the metadata document; undefined for a client that has registered itself. */
  readonly host?: string | undefined;
}

const longestName = 80;

/** A name as long as the consent page shows it. */
export const shownName = (name: string): string => name.slice(0, longestName);

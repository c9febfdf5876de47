/** The protocol revisions this gateway speaks with clients, all of the era that begins with `initialize`. */
export const supportedVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export function isSupportedVersion(version: string): boolean {
  return supportedVersions.includes(version);
}

/** Batches came with 2025-03-26 and left with 2025-06-18. */
export function hasBatches(version: string): boolean {
  return version === '2025-03-26';
}

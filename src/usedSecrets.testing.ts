import assert from 'node:assert/strict';

/** Shorter values are not looked for: ordinary words hold them. */
export const shortestSecret = 8;
/** A JSON Web Token, or enough of one to use it. */
const token = /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}/;
const used = new Set<string>();

/** Notes a secret that a test uses. Nothing that a gateway shows may have it. @returns the secret */
export function usedSecret(value: string): string {
  if (value.length >= shortestSecret) used.add(value);
  return value;
}

/**
 * Looks for tokens, for every secret that the tests of this process have used so far, and for further ones.
 * @throws AssertionError that names the place, and shows the text before the secret
 */
export function checkShown(place: string, text: string, more: readonly string[] = []): void {
  const at = token.exec(text)?.index ?? -1;
  assert.equal(at, -1, `${place} shows a token: ${text.slice(Math.max(0, at - 200), at + 20)}`);
  for (const [kind, values] of [
    ['of the configuration', more],
    ['that a test used', used],
  ] as const)
    for (const value of values) {
      const from = text.indexOf(value);
      assert.equal(
        from,
        -1,
        `${place} shows a secret ${kind}: ${text.slice(Math.max(0, from - 200), from + 4)}`,
      );
    }
}

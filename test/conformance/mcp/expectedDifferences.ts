import { readFile } from 'node:fs/promises';
import type { ExpectedDifference } from './compare.ts';

/** The committed list of the known differences, of all combinations. */
export const expectedDifferences = JSON.parse(
  await readFile(new URL('expected-differences.json', import.meta.url), 'utf8'),
) as ExpectedDifference[];

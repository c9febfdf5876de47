import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/**
 * The program that tests start. `npm test` builds one, and names it: it starts in half of the time of a program that
 * Node reads from its sources.
 */
export const launcher = resolve(root, process.env['PORTCULLIS_TEST_PROGRAM'] ?? 'bin/portcullis');

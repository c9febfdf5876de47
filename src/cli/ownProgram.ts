import { basename } from 'node:path';
import type { Program } from '../workers/index.ts';

/**
 * How this program was started, as it was said then: links and names are looked up anew by whoever starts it again, so
 * that a link that was turned, or a package that was updated, leads to the new version.
 */
export function ownProgram(): Program {
  const { argv0, argv, execArgv, execPath } = process;
  // A starter may have made a name up that leads nowhere.
  const file = argv0.includes('/') || argv0 === basename(execPath) ? argv0 : execPath;
  return { file, args: [...execArgv, ...argv.slice(1)] };
}

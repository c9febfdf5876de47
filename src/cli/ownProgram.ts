import { basename } from 'node:path';
import type { Program } from '../workers/index.ts';

/**
 * The command that started this program: a restart looks up links and names anew, so that a link that was turned,
 * or a package that was updated, leads to the new version.
 */
export function ownProgram(): Program {
  const { argv0, argv, execArgv, execPath } = process;
  // A starter may have made a name up that leads nowhere.
  const file = argv0.includes('/') || argv0 === basename(execPath) ? argv0 : execPath;
  // Behind `--`, Node reads no flag itself: not `--env-file` either, which Node has, too.
  return { file, args: [...execArgv, '--', ...argv.slice(1)] };
}

import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';

/** Not a dependency of the gateway: trials and tests have it, an installation need not. */
const packageName = '@portcullis/dev-idp';

export const idp: Command = {
  summary: 'run the small authorization server for trials (see `portcullis idp --help`)',
  usage: '[ITS OWN FLAGS]',
  flags: {},
  positionals: 0,
  passThrough: true,
  async run(_flags, args, terminal) {
    let loaded: unknown;
    try {
      loaded = await import(packageName);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
      terminal.err(
        `portcullis: ${packageName} is not installed; it comes with a checkout of the repository, not with the package\n`,
      );
      return exitCode.failed;
    }
    const { main } = loaded as { main: (args: string[]) => Promise<number> };
    const code = await main([...args]);
    // Its codes are 0, 1 (could not start) and 2 (usage).
    return code === 1 ? exitCode.failed : code;
  },
};

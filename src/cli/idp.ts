import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';

export const idp: Command = {
  summary: 'run the small authorization server for trials (see `portcullis idp --help`)',
  usage: '[ITS OWN FLAGS]',
  flags: {},
  positionals: 0,
  passThrough: true,
  async run(_flags, args, terminal) {
    let main: (args: string[]) => Promise<number>;
    try {
      // The npm package contains it; the image of the gateway does not.
      ({ main } = await import('@portcullis/dev-idp'));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
      terminal.err('portcullis: this image has no authorization server; the npm package has it\n');
      return exitCode.failed;
    }
    const code = await main([...args]);
    // Its codes are 0, 1 (could not start) and 2 (usage).
    return code === 1 ? exitCode.failed : code;
  },
};

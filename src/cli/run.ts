import { check } from './check.ts';
import type { Command } from './command.ts';
import { configurationFlags, givenConfiguration } from './configuration.ts';
import { ownProgram } from './ownProgram.ts';
import { serveUntilStopped } from './serve.ts';

export const run: Command = {
  summary: 'run the gateway (the default command)',
  usage: '-f FILE | -c YAML',
  flags: {
    ...configurationFlags,
    'pid-file': {
      type: 'string',
      value: 'FILE',
      help: 'write the process id there, also that of a program that takes over by an upgrade',
    },
    'validate-only': { type: 'boolean', help: 'check the configuration and end, like `portcullis check`' },
  },
  positionals: 0,
  async run(flags, positionals, terminal) {
    if (flags['validate-only'] === true) return check.run(flags, positionals, terminal);
    const source = givenConfiguration(flags, positionals);
    const { 'pid-file': pidFile } = flags;
    return await serveUntilStopped(
      {
        source,
        env: terminal.env,
        program: ownProgram(),
        ...(typeof pidFile === 'string' ? { pidFile } : {}),
      },
      terminal,
    );
  },
};

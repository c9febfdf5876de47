import { check } from './check.ts';
import type { Command } from './command.ts';
import { configurationFlags, givenConfiguration } from './configuration.ts';
import { exitCode } from './exitCode.ts';
import { Stopping } from './stopping.ts';

export const run: Command = {
  summary: 'run the gateway (the default command)',
  usage: '-f FILE | -c YAML',
  flags: {
    ...configurationFlags,
    'validate-only': { type: 'boolean', help: 'check the configuration and end, like `portcullis check`' },
  },
  positionals: 0,
  async run(flags, positionals, terminal) {
    if (flags['validate-only'] === true) return check.run(flags, positionals, terminal);
    const source = givenConfiguration(flags, positionals);
    // Loaded here, so that the other commands start without the data plane.
    const { StartError, startGateway } = await import('../main.ts');
    const stopping = new Stopping(terminal);
    try {
      const gateway = await startGateway({ source, env: terminal.env });
      stopping.started(gateway);
      await gateway.closed;
      return exitCode.ok;
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      for (const problem of error.problems) terminal.err(`${problem}\n`);
      return error.kind === 'configuration' ? exitCode.invalid : exitCode.failed;
    } finally {
      stopping.release();
    }
  },
};

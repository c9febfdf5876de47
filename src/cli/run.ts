import type { Gateway } from '../main.ts';
import { check } from './check.ts';
import type { Command, Terminal } from './command.ts';
import { configurationFlags, givenConfiguration } from './configuration.ts';
import { exitCode } from './exitCode.ts';

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
    let gateway: Gateway;
    try {
      gateway = await startGateway({ source, env: terminal.env });
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      for (const problem of error.problems) terminal.err(`${problem}\n`);
      return error.kind === 'configuration' ? exitCode.invalid : exitCode.failed;
    }
    const release = stopOnSignals(gateway, terminal);
    await gateway.closed;
    release();
    return exitCode.ok;
  },
};

/**
 * One signal often arrives twice: a terminal sends Ctrl-C to a launcher (npm, our own) and to us, and the launcher
 * passes it on. So soon after the first it is the same order; later it is impatience.
 */
const sameOrderMs = 300;

/** The first signal lets running requests finish, the second ends at once. @returns what stops listening. */
function stopOnSignals(gateway: Gateway, terminal: Terminal): () => void {
  let ordered: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (ordered === undefined) {
      ordered = now;
      terminal.err(`portcullis: ${signal}: draining; once more ends at once\n`);
      end(gateway.close(), terminal);
    } else if (now - ordered > sameOrderMs) {
      end(gateway.closeNow(), terminal);
    }
  };
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.on(signal, stop);
  return () => {
    for (const signal of signals) process.removeListener(signal, stop);
  };
}

/** A stop that fails must still stop: there is nobody left to ask. */
function end(stopping: Promise<void>, terminal: Terminal): void {
  stopping.catch((error: unknown) => {
    terminal.err(
      `portcullis: cannot stop in order: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    process.exit(exitCode.failed);
  });
}

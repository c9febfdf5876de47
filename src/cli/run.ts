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

/**
 * One signal often arrives twice: a terminal sends Ctrl-C to a launcher (npm, our own) and to us, and the launcher
 * passes it on. So soon after the first it is the same order; later it is impatience.
 */
const sameOrderMs = 300;

const signals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Turns signals into a stop: the first lets running requests finish, the second ends at once. Listens before the
 * gateway starts, because whoever sees it ready may stop it in the next moment.
 */
class Stopping {
  readonly #terminal: Terminal;
  readonly #listener = (signal: NodeJS.Signals): void => this.#signal(signal);
  #gateway: Gateway | undefined;
  #orderedAt: number | undefined;
  #over = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    for (const signal of signals) process.on(signal, this.#listener);
  }

  started(gateway: Gateway): void {
    this.#gateway = gateway;
    if (this.#orderedAt !== undefined) end(gateway.close(), this.#terminal);
  }

  /** A signal that comes between the end of the gateway and that of the process must not change the exit code. */
  release(): void {
    this.#over = true;
    if (this.#orderedAt !== undefined) return;
    for (const signal of signals) process.removeListener(signal, this.#listener);
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#over) return;
    const now = performance.now();
    if (this.#orderedAt === undefined) {
      this.#orderedAt = now;
      this.#terminal.err(`portcullis: ${signal}: draining; once more ends at once\n`);
      if (this.#gateway !== undefined) end(this.#gateway.close(), this.#terminal);
    } else if (now - this.#orderedAt > sameOrderMs) {
      // Still starting: there is nothing yet that would have to be closed.
      if (this.#gateway === undefined) process.exit(exitCode.failed);
      end(this.#gateway.closeNow(), this.#terminal);
    }
  }
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

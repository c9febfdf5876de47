import { messageOf } from '../errorText.ts';
import type { Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';

/** A program that runs until it is told to stop. */
export interface Stoppable {
  /** Lets what is under way finish. */
  close(): Promise<void>;
  closeNow(): Promise<void>;
  /** Has a new program take its place; absent where that cannot be. Says by itself what comes of it. */
  upgrade?(): Promise<unknown>;
}

/**
 * A signal often arrives twice: a terminal sends Ctrl-C to a launcher (npm, our own) and to us, and the launcher
 * passes it on. So soon after the first it is the same order; later it is impatience.
 */
const sameOrderMs = 300;

const signals = ['SIGTERM', 'SIGINT'] as const;
/** As nginx has it. */
const upgradeSignal = 'SIGUSR2';

/**
 * Turns signals into a stop: the first lets running requests finish, the second ends at once. Listens before the
 * program starts, because whoever sees it ready may stop it in the next moment.
 */
export class Stopping {
  readonly #terminal: Terminal;
  readonly #listener = (signal: NodeJS.Signals): void => this.#signal(signal);
  readonly #onUpgrade = (): void => this.#upgrade();
  #program: Stoppable | undefined;
  #orderedAt: number | undefined;
  #over = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    for (const signal of signals) process.on(signal, this.#listener);
    process.on(upgradeSignal, this.#onUpgrade);
  }

  started(program: Stoppable): void {
    this.#program = program;
    if (this.#orderedAt !== undefined) end(program.close(), this.#terminal);
  }

  /** A signal that comes between the end of the program and that of the process must not change the exit code. */
  release(): void {
    this.#over = true;
    process.removeListener(upgradeSignal, this.#onUpgrade);
    if (this.#orderedAt !== undefined) return;
    for (const signal of signals) process.removeListener(signal, this.#listener);
  }

  #upgrade(): void {
    if (this.#program?.upgrade === undefined) {
      const why = this.#program === undefined ? 'still starting' : 'this program cannot be upgraded in place';
      this.#terminal.err(`portcullis: ${upgradeSignal}: ${why}\n`);
      return;
    }
    // The result is in the log.
    this.#program.upgrade().catch((error: unknown) => {
      const problem = messageOf(error);
      this.#terminal.err(`portcullis: ${upgradeSignal}: upgrade refused: ${problem}\n`);
    });
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#over) return;
    const now = performance.now();
    if (this.#orderedAt === undefined) {
      this.#orderedAt = now;
      this.#terminal.err(
        `portcullis: ${signal}: draining connections. Send the signal again to stop immediately.\n`,
      );
      if (this.#program !== undefined) end(this.#program.close(), this.#terminal);
    } else if (now - this.#orderedAt > sameOrderMs) {
      // Still starting: there is nothing yet that would have to be closed.
      if (this.#program === undefined) process.exit(exitCode.failed);
      end(this.#program.closeNow(), this.#terminal);
    }
  }
}

/** A stop that fails must still stop: there is nobody left to ask. */
function end(stopping: Promise<void>, terminal: Terminal): void {
  stopping.catch((error: unknown) => {
    terminal.err(`portcullis: graceful shutdown failed: ${messageOf(error)}\n`);
    process.exit(exitCode.failed);
  });
}

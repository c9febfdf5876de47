import type { Environment } from '../config/index.ts';

/** The output and the surroundings of commands; tests bring their own. */
export interface Terminal {
  /** Results: what somebody might pipe on. */
  out(text: string): void;
  /** Everything else. */
  err(text: string): void;
  readonly env: Environment;
  /** A person reads `err`. */
  readonly interactive?: boolean;
  /** A parent process holds a pipe to this one; undefined where the terminal is not that of a process. */
  readonly tethered?: boolean;
}

/** Flags as `node:util` parses them; a flag that was not given is absent. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Command {
  /** The line of the command in `--help`. */
  readonly summary: string;
  /** Arguments after the name, for the usage line. */
  readonly usage: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** At most so many arguments that are not flags. */
  readonly positionals: number;
  /** @returns the exit code (`exitCode.ts`). */
  run(flags: Flags, positionals: readonly string[], terminal: Terminal): number | Promise<number>;
  /** The command reads its own arguments; `run` gets them as they are. */
  readonly passThrough?: boolean;
}

export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** Name of the value, for `--help`. */
  readonly value?: string;
  readonly help: string;
  /** A repeated flag is an error; otherwise the last would win. */
  readonly once?: boolean;
  /** The flag may be repeated, and its value is a list. */
  readonly multiple?: boolean;
}

/** The command line is wrong: the message is shown with a pointer to `--help`, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

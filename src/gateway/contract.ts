import type { Admin } from '../admin/index.ts';
import type { Environment } from '../config/index.ts';
import type { StreamSettings } from '../stream/index.ts';
import type { Inheritance, PortView, Predecessor, Program } from '../workers/index.ts';

export interface GatewayOptions {
  /**
   * A file, which is followed, or the text itself; or a controller, with the text of the settings that are this
   * process's own.
   */
  readonly source:
    | { readonly file: string }
    | { readonly text: string }
    | { readonly stream: StreamSettings; readonly settings: string };
  /** For `$NAME` in values and for the overrides of `config`. */
  readonly env: Environment;
  /** Variables of `env` that flags of the command line have set, with the flag. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The version of the program, for admin and metrics. */
  readonly version?: string;
  /** Shows the link to the console to the operator; a file that only this user can read has it where absent. */
  readonly showLink?: (url: string) => void;
  /** The command that started it; without it no upgrade is possible. */
  readonly program?: Program;
  /** From the program whose place this one takes. */
  readonly inheritance?: Inheritance | undefined;
}

/** A running gateway. */
export interface Gateway {
  readonly binds: readonly PortView[];
  readonly addresses: Admin['addresses'];
  /** Resolves when the gateway has ended, whoever asked for it. */
  readonly closed: Promise<void>;
  /** Ends gracefully: takes no more connections, lets running requests finish within the configured deadline. */
  close(): Promise<void>;
  /** Ends at once. */
  closeNow(): Promise<void>;
  /**
   * Has a new program take the place of this one, which then drains and ends.
   * @returns the process id of the other one
   * @throws Error saying why it did not work: everything is as before then, and the log says it, too
   */
  upgrade(): Promise<number>;
  /** Tells the program before this one that this one serves. Resolves (never rejects) when it has left the ports. */
  replace(predecessor: Predecessor): Promise<void>;
}

import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { StdioTarget } from '../../../model/index.ts';

/** A child that failed: the client and the log are told the same entry, so that one leads to the other. */
export interface Failure {
  /** Names the log entry. */
  readonly entry: string;
  /** The message for the client, behind the name of the target. */
  readonly clientMessage: string;
  readonly hint: string | undefined;
}

export interface Circumstances {
  readonly starting: boolean;
  /** As `Date.now()` has it. */
  readonly now: number;
  /** The last lines. They are for the log only: what a server writes is not for clients. */
  readonly stderr: string;
}

/** @param reason what the child did, such as `ended with exit code 1` */
export function failureOf(
  target: StdioTarget,
  reason: string,
  { starting, now, stderr }: Circumstances,
): Failure {
  const entry = randomBytes(4).toString('hex');
  const hint = hintOf(target, stderr);
  const doing = starting && !reason.includes('started') ? ' while it started' : '';
  const time = new Date(now).toISOString();
  const advice = hint === undefined ? '' : `; ${hint}`;
  return {
    entry,
    clientMessage: `${reason}${doing}, at ${time}; see the log entry of the gateway with failure=${entry}${advice}`,
    hint,
  };
}

/** Words of npm where it would ask before it installs, and nobody can answer. */
const asked = /no YES option|need to install the following packages|ok to proceed\?/i;

function hintOf({ cmd, args }: StdioTarget, stderr: string): string | undefined {
  const isNpx = /^npx(?:\.cmd)?$/.test(basename(cmd));
  const isNpm =
    /^npm(?:\.cmd)?$/.test(basename(cmd)) && ['exec', 'x', 'init', 'create'].includes(args[0] ?? '');
  if (!(isNpx || isNpm) || !asked.test(stderr)) return undefined;
  if (args.includes('-y') || args.includes('--yes')) return undefined;
  return 'npx asked whether it may install the package: put -y first in args';
}

import { z } from 'zod';
import type { CallTimeouts } from '../../../model/index.ts';
import { duration } from '../../../schema/index.ts';

/** Fields that a target has beside the field of its kind, in the file and in McpBackends. */

export const targetName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
    error:
      'expected a name of letters, digits, dots, dashes and underscores that begins with a letter or a digit, at most 64 long',
  })
  .describe('Names the target in logs and, where names are prefixed, in the names of its tools.');

/** The time that calls may take. */
export const callFields = {
  callTimeout: duration
    .optional()
    .describe(
      'Time that a call may take without progress; 0s is no limit. In place of the timeout policy and of config.limits.mcpCallTimeout.',
    ),
  toolTimeouts: z
    .record(z.string().min(1, { error: 'expected the name of a tool' }), duration)
    .optional()
    .describe('The same for single tools, by their names at the server.'),
};

/** The times of `callFields` as written, in milliseconds. */
export interface WrittenTimes {
  readonly callTimeout?: number | undefined;
  readonly toolTimeouts?: Readonly<Record<string, number>> | undefined;
}

/** The times of `callFields` in the words of the model. */
export const callTimeouts = ({ callTimeout, toolTimeouts }: WrittenTimes): CallTimeouts => ({
  ...(callTimeout === undefined ? {} : { callTimeoutMs: callTimeout }),
  ...(toolTimeouts === undefined ? {} : { toolTimeoutsMs: toolTimeouts }),
});

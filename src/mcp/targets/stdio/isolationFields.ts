import { z } from 'zod';
import type { ChildIsolation, StdioTarget } from '../../../model/index.ts';
import { fields, positiveDuration, positiveSize } from '../../../schema/index.ts';

const account = z.union([
  z.int().min(0).max(4_294_967_294),
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/, { error: 'expected a name or a number' }),
]);
const count = z.int().min(1).max(1_000_000_000);

const limits = fields({
  memory: positiveSize.optional().describe('Address space of each process, such as 2GiB.'),
  cpuTime: positiveDuration
    .optional()
    .describe('CPU time of each process, in whole seconds; the kernel ends a process that needs more.'),
  openFiles: count.optional().describe('Files and sockets that each process may have open.'),
  processes: count.optional().describe('Processes and threads of the user that the program runs as.'),
}).refine((given) => Object.keys(given).length > 0, { error: 'expected at least one limit' });

/** Fields about the rights of a program. */
export const isolationFields = {
  user: account
    .optional()
    .describe('User that the program runs as: name or number. The gateway needs the right to change users.'),
  group: account
    .optional()
    .describe('Group that the program runs as: name or number; the first group of the user by default.'),
  limits: limits.optional().describe('Limits of the kernel for the program, by prlimit (Linux).'),
  privateFolder: z
    .boolean()
    .optional()
    .describe(
      'Each child has a working directory of its own, which only its user can read, and which is removed with the child; false by default.',
    ),
  privateProcesses: z
    .boolean()
    .optional()
    .describe('The program sees no process but its own ones, by unshare (Linux); false by default.'),
  noNewPrivileges: z
    .boolean()
    .optional()
    .describe('Programs that it starts get no further rights, by setpriv (Linux); false by default.'),
};

type IsolationSettings = {
  readonly [Field in keyof typeof isolationFields]?: z.output<(typeof isolationFields)[Field]>;
};

export function buildIsolation({
  user,
  group,
  limits: given,
  privateFolder,
  privateProcesses,
  noNewPrivileges,
}: IsolationSettings): Pick<StdioTarget, 'isolation'> {
  const isolation: ChildIsolation = {
    ...(user === undefined ? {} : { user }),
    ...(group === undefined ? {} : { group }),
    ...(given === undefined
      ? {}
      : {
          limits: {
            ...(given.memory === undefined ? {} : { memoryBytes: given.memory }),
            // The kernel counts whole seconds.
            ...(given.cpuTime === undefined ? {} : { cpuSeconds: Math.ceil(given.cpuTime / 1_000) }),
            ...(given.openFiles === undefined ? {} : { openFiles: given.openFiles }),
            ...(given.processes === undefined ? {} : { processes: given.processes }),
          },
        }),
    ...(privateFolder === true ? { privateFolder } : {}),
    ...(privateProcesses === true ? { privateProcesses } : {}),
    ...(noNewPrivileges === true ? { noNewPrivileges } : {}),
  };
  return Object.keys(isolation).length === 0 ? {} : { isolation };
}

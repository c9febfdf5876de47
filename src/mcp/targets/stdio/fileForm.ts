import { z } from 'zod';
import type { StdioTarget } from '../../../model/index.ts';
import { choice, fields, mayHoldSecret, namesFile, positiveDuration } from '../../../schema/index.ts';
import { fileForm } from '../kind/targetFacts.ts';

const environmentName = z
  .string()
  .refine((name) => /^[^=\0]+$/.test(name), { error: 'is not a name that an environment variable can have' });
const noNul = (what: string, shortest = 0): z.ZodString =>
  z
    .string()
    .min(shortest, { error: `expected ${what}` })
    .refine((text) => !text.includes('\0'), { error: `${what} cannot hold a NUL character` });

/** The help for the scope of a program, in files and in McpBackends. */
export const scopeHelp =
  'session: each session has a child of its own; the default. shared: one child serves all requests; this needs statefulMode: stateless.';

const schema = fields({
  cmd: namesFile(noNul('a command', 1), 'command').describe('Program to start, found along PATH.'),
  args: z
    .array(mayHoldSecret(noNul('an argument')))
    .optional()
    .describe('Its arguments; no shell reads them.'),
  env: z
    .record(environmentName, mayHoldSecret(noNul('a value')))
    .optional()
    .describe('Environment variables to add or replace.'),
  clear_env: z
    .boolean()
    .optional()
    .describe('Start from an empty environment instead of that of the gateway; false by default.'),
  cwd: namesFile(noNul('a path', 1), 'folder')
    .optional()
    .describe('Working directory; that of the gateway by default.'),
  startTimeout: positiveDuration
    .optional()
    .describe('Time from the start of the program to its answer to initialize; 60s by default.'),
  scope: choice(['session', 'shared']).optional().describe(scopeHelp),
});

/** The time from the start of a program to its answer to initialize, where the settings do not say. */
export const startTimeoutMs = 60_000;

export const stdioFile = fileForm({
  field: 'stdio',
  description: 'An MCP server that runs as a child process and speaks over stdin and stdout.',
  schema,
  build: (settings, { name, resume, stateless, timeouts }): StdioTarget => ({
    kind: 'stdio',
    name,
    cmd: settings.cmd,
    args: settings.args ?? [],
    env: settings.env ?? {},
    clearEnv: settings.clear_env ?? false,
    ...(settings.cwd === undefined ? {} : { cwd: settings.cwd }),
    startTimeoutMs: settings.startTimeout ?? startTimeoutMs,
    ...(resume ? {} : { resume }),
    ...(stateless ? { stateless } : {}),
    ...(settings.scope === 'shared' ? { scope: settings.scope } : {}),
    ...timeouts,
  }),
});

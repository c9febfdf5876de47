import { z } from 'zod';
import {
  choice,
  duration,
  fields,
  mayHoldSecret,
  namesFile,
  notBuilt,
  oneOf,
  parsed,
  positiveDuration,
} from '../../schema/index.ts';
import { targetPolicies } from './backendPolicies.ts';
import { remoteServer } from './remoteServer.ts';

const environmentName = z
  .string()
  .refine((name) => /^[^=\0]+$/.test(name), { error: 'is not a name that an environment variable can have' });
const noNul = (what: string, shortest = 0): z.ZodString =>
  z
    .string()
    .min(shortest, { error: `expected ${what}` })
    .refine((text) => !text.includes('\0'), { error: `${what} cannot hold a NUL character` });

const stdio = fields({
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
});

const target = oneOf(
  fields({
    name: parsed('a name of letters, digits, dots, dashes and underscores, at most 64 long', (text) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) ? text : undefined,
    ).describe('Names the target in logs and, where names are prefixed, in the names of its tools.'),
    stdio: stdio
      .optional()
      .describe('An MCP server that runs as a child process and speaks over stdin and stdout.'),
    mcp: remoteServer.optional().describe('An MCP server that is spoken to over Streamable HTTP.'),
    sse: notBuilt('the transport of 2024-11-05; a server that speaks Streamable HTTP is written as `mcp`'),
    openapi: notBuilt(),
    policies: targetPolicies
      .optional()
      .describe(
        'How connections to the server are made, and what it gets with every request, in place of what the route says.',
      ),
    callTimeout: duration
      .optional()
      .describe(
        'Time that a call may take without progress; 0s is no limit. In place of the timeout policy and of config.limits.mcpCallTimeout.',
      ),
    toolTimeouts: z
      .record(z.string().min(1, { error: 'expected the name of a tool' }), duration)
      .optional()
      .describe('The same for single tools, by their names at the server.'),
    resume: z
      .boolean()
      .optional()
      .describe(
        'Start the program again for a session whose child was taken to make room for others; true by default. False: the session ends with 404.',
      ),
  }),
  ['stdio', 'mcp'],
).superRefine(({ stdio: child, policies, resume }, context) => {
  if (child === undefined && resume !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['resume'],
      message: 'is about a server that runs as a child process',
    });
  if (child === undefined || policies === undefined) return;
  context.addIssue({
    code: 'custom',
    path: ['policies'],
    message: 'is about connections to a server, and one that runs as a child process has none',
  });
});

/** Port of the top-level `mcp` where the file has neither a port for it nor gateways. */
export const usualMcpPort = 3000;

/** Fields that an MCP backend and the top-level `mcp` share. */
export const mcpFields = {
  targets: z
    .array(target)
    .min(1, { error: 'expected one target' })
    // Not `max`: that would keep silent about everything else that is wrong with the targets.
    .refine((targets) => targets.length <= 1, {
      error: 'several targets are known, but not built yet in this version; they come with federation',
    })
    .describe('The MCP server to serve; exactly one in this version.'),
  statefulMode: choice(['stateful'], ['stateless']).optional().describe('Sessions are kept; the default.'),
  prefixMode: choice(['conditional', 'always', 'never'])
    .optional()
    .describe(
      'When names of tools and prompts carry the name of their target; conditional (with several targets) by default.',
    ),
  failureMode: choice(['failClosed'], ['failOpen'])
    .optional()
    .describe('A target that fails fails the request; failOpen comes with several targets.'),
  dnsRebindingProtection: z
    .boolean()
    .optional()
    .describe('Serve only requests whose Host and Origin name this machine; false by default.'),
};

export const mcpBackend = fields(mcpFields).meta({ id: 'McpBackend' });
export type McpSettings = z.output<typeof mcpBackend>;

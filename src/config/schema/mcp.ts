import { z } from 'zod';
import { fileFieldNames, fileFields, isWrittenAsChild } from '../../mcp/targets/facts.ts';
import { choice, duration, fields, oneOf, parsed } from '../../schema/index.ts';
import { targetPolicies } from './backendPolicies.ts';
import { mcpView } from './mcpView.ts';

const target = oneOf(
  fields({
    name: parsed('a name of letters, digits, dots, dashes and underscores, at most 64 long', (text) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) ? text : undefined,
    ).describe('Names the target in logs and, where names are prefixed, in the names of its tools.'),
    ...fileFields,
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
  fileFieldNames,
).superRefine((written, context) => {
  const { policies, resume } = written;
  const isChild = isWrittenAsChild(written);
  if (!isChild && resume !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['resume'],
      message: 'is about a server that runs as a child process',
    });
  if (!isChild || policies === undefined) return;
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
    .min(1, { error: 'expected at least one target' })
    .describe('The MCP servers to serve, behind one endpoint.'),
  statefulMode: choice(['stateful', 'stateless'])
    .optional()
    .describe(
      'stateful: a client has a session with its targets; the default. stateless: each request stands alone, and targets of it end with it.',
    ),
  prefixMode: choice(['conditional', 'always', 'never'])
    .optional()
    .describe(
      'When names of tools and prompts carry the name of their target; conditional (with several targets) by default.',
    ),
  prefixSeparator: parsed('one to eight letters, digits, dots, dashes or underscores', (text) =>
    /^[A-Za-z0-9._-]{1,8}$/.test(text) ? text : undefined,
  )
    .optional()
    .describe('Stands between the name of a target and the name of its tool or prompt; _ by default.'),
  failureMode: choice(['failClosed', 'failOpen'])
    .optional()
    .describe(
      'failClosed: a target that fails fails requests to all targets; the default. failOpen: the other targets are served.',
    ),
  targetWait: duration
    .optional()
    .describe(
      'Under failOpen, the time that initialize and lists wait for slow targets; 5s by default. Slow targets join later.',
    ),
  pin: choice(['enforce', 'warn'])
    .optional()
    .describe(
      'Compare definitions of tools, prompts, templates and instructions with the first ones that were seen (config.mcp.pins). enforce: withhold changed ones until they are approved; warn: log them.',
    ),
  view: mcpView
    .optional()
    .describe('The tools, prompts and resources that clients see, under names and descriptions of your own.'),
  dnsRebindingProtection: z
    .boolean()
    .optional()
    .describe('Serve only requests whose Host and Origin name this machine; false by default.'),
};

export const mcpBackend = fields(mcpFields).meta({ id: 'McpBackend' });
export type McpSettings = z.output<typeof mcpBackend>;

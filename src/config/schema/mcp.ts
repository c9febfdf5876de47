import { z } from 'zod';
import {
  callFields,
  fileFieldNames,
  fileFieldsWith,
  isWrittenAsChild,
  targetName,
} from '../../mcp/targets/facts.ts';
import { valueExchange } from '../../policies/facts.ts';
import { choice, duration, fields, oneOf } from '../../schema/index.ts';
import { targetPolicies } from './backendPolicies.ts';
import { mcpView } from './mcpView.ts';

const target = oneOf(
  fields({
    name: targetName,
    ...fileFieldsWith(valueExchange),
    policies: targetPolicies
      .optional()
      .describe(
        'How connections to the server are made, and what it gets with every request, in place of what the route says.',
      ),
    ...callFields,
    resume: z
      .boolean()
      .optional()
      .describe(
        'Start the program again for a session whose child was taken to make room for others; true by default. False: the session ends with 404.',
      ),
    stateless: z
      .boolean()
      .optional()
      .describe(
        'The program keeps no state of its own: any gateway with the session key may go on with a session, with a new child. False by default.',
      ),
  }),
  fileFieldNames,
).superRefine((written, context) => {
  const { policies, resume, stateless } = written;
  const isChild = isWrittenAsChild(written);
  for (const field of ['resume', 'stateless'] as const)
    if (!isChild && written[field] !== undefined)
      context.addIssue({
        code: 'custom',
        path: [field],
        message: 'is about a server that runs as a child process',
      });
  if (resume === false && stateless === true)
    context.addIssue({
      code: 'custom',
      path: ['stateless'],
      message: 'contradicts resume: false, which says that the program keeps something in memory',
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

/** Several targets as one server: files and McpBackends of a cluster have the same fields. */
export const federationFields = {
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
  prefixSeparator: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,8}$/, {
      error: 'expected one to eight letters, digits, dots, dashes or underscores',
    })
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
  view: mcpView
    .optional()
    .describe('The tools, prompts and resources that clients see, under names and descriptions of your own.'),
  pin: choice(['enforce', 'warn'])
    .optional()
    .describe(
      'Compare definitions of tools, prompts, templates and instructions with the first ones that were seen (config.mcp.pins, or the store that replicas share). enforce: withhold changed ones until they are approved; warn: log them.',
    ),
};

export type FederationSettings = z.output<z.ZodObject<typeof federationFields>>;

/** Fields that an MCP backend and the top-level `mcp` share. */
export const mcpFields = {
  targets: z
    .array(target)
    .min(1, { error: 'expected at least one target' })
    .describe('The MCP servers to serve, behind one endpoint.'),
  ...federationFields,
  dnsRebindingProtection: z
    .boolean()
    .optional()
    .describe('Serve only requests whose Host and Origin name this machine; false by default.'),
};

export const mcpBackend = fields(mcpFields).meta({ id: 'McpBackend' });
export type McpSettings = z.output<typeof mcpBackend>;

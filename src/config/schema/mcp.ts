import { z } from 'zod';
import { fileFieldNames, fileFields, isWrittenAsChild } from '../../mcp/targets/facts.ts';
import { choice, duration, fields, oneOf, parsed } from '../../schema/index.ts';
import { targetPolicies } from './backendPolicies.ts';

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

import { z } from 'zod';
import { clusterFieldNames, clusterFields } from '../../mcp/targets/facts.ts';
import { byName, crdRules } from '../../schema/index.ts';

/**
 * The `spec` of an McpBackend. The CRD is made of it (`npm run generate`), so what is wrong is refused when it is
 * written; the same schema looks at it again here.
 */

const listed = `${clusterFieldNames.slice(0, -1).join(', ')} and ${clusterFieldNames.at(-1) ?? ''}`;
const oneForm = `exactly one of ${listed} is needed`;

const target = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(64)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)
      .describe('Names the target in logs and, where names are prefixed, in the names of its tools.'),
    ...clusterFields,
  })
  .refine(
    (one) =>
      Object.entries(one).filter(([name, form]) => clusterFieldNames.includes(name) && form !== undefined)
        .length === 1,
    oneForm,
  )
  .meta(
    crdRules({
      rule: `[${clusterFieldNames.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
      message: oneForm,
    }),
  );

const oneTarget = 'exactly one target: several are not served yet, they come with federation';

export const mcpBackendSchema = z.strictObject({
  targets: z
    .array(target)
    .min(1)
    .max(16)
    .refine((targets) => targets.length === 1, oneTarget)
    .meta({ ...crdRules({ rule: 'self.size() == 1', message: oneTarget }), ...byName })
    .describe('The MCP server to serve; exactly one in this version.'),
});

export type McpBackendSpec = z.output<typeof mcpBackendSchema>;

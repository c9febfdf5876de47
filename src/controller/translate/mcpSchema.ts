import { z } from 'zod';
import { federationFields } from '../../config/index.ts';
import {
  callFields,
  childClusterFieldNames,
  clusterFieldNames,
  clusterFields,
  clusterTargetOf,
  haveDifferentNames,
  targetName,
} from '../../mcp/targets/facts.ts';
import { byName, crdRules } from '../../schema/index.ts';

/**
 * The `spec` of an McpBackend. The CRD is made of it (`npm run generate`), so what is wrong is refused when it is
 * written; the same schema looks at it again here.
 */

const listed = `${clusterFieldNames.slice(0, -1).join(', ')} and ${clusterFieldNames.at(-1) ?? ''}`;
const oneForm = `exactly one of ${listed} is needed`;

const target = z
  .strictObject({ name: targetName, ...callFields, ...clusterFields })
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

/** Most targets of a backend, the Services that labels choose included. */
export const mostTargets = 64;

const shape = z.strictObject({
  targets: z
    .array(target)
    .min(1)
    .max(mostTargets)
    .refine(haveDifferentNames, 'another target has this name')
    .meta(byName)
    .describe('The MCP servers to serve, behind one endpoint.'),
  ...federationFields,
});

const isShared = (name: string): string =>
  `has(t.${name}) && has(t.${name}.scope) && t.${name}.scope == 'shared'`;
const noSessions = 'a target with scope shared needs statefulMode stateless';

export const mcpBackendSchema = shape
  .refine(
    ({ targets, statefulMode }) =>
      statefulMode === 'stateless' ||
      !targets.some((one) => childClusterFieldNames.some((name) => one[name]?.scope === 'shared')),
    noSessions,
  )
  .meta(
    crdRules({
      rule: `(has(self.statefulMode) && self.statefulMode == 'stateless') || !self.targets.exists(t, ${childClusterFieldNames.map(isShared).join(' || ')})`,
      message: noSessions,
    }),
  )
  .superRefine(checkView);

export type McpBackendSpec = z.output<typeof mcpBackendSchema>;

/** Entries of a view name targets. */
function checkView({ targets, view = {} }: z.output<typeof shape>, context: z.RefinementCtx): void {
  const names = targets.map(({ name }) => name);
  // Services that come and go are targets, too.
  const areMore = targets.some((one) => clusterTargetOf(one)?.several === true);
  for (const list of ['tools', 'prompts', 'resources'] as const)
    for (const [index, entry] of (view[list] ?? []).entries()) {
      const { target: named } = entry;
      const wrong = (field: string, message: string): void =>
        context.addIssue({ code: 'custom', path: ['view', list, index, field], message });
      if (named !== undefined && !areMore && !names.includes(named))
        wrong('target', `there is no target ${named}`);
      // A resource keeps its URI, which tells its target.
      if (list === 'resources' || named !== undefined) continue;
      if (entry.as !== undefined && (areMore || names.length > 1))
        wrong('as', 'with several targets, a new name needs the target of its item');
    }
}

import { z } from 'zod';
import type { McpTarget, NetworkTarget } from '../../../model/index.ts';
import { crdRules } from '../../../schema/index.ts';
import { selectingForm, type BuiltTarget, type ChosenService, type Refusal } from './clusterTarget.ts';
import { endpointPath, type RemoteForm } from './remoteInCluster.ts';

/** Names of labels, and their values (Kubernetes, "Labels and Selectors"). */
const labelName = z.string().min(1).max(317);
const labelValue = z.string().max(63);

const someLabel = 'matchLabels or matchExpressions are needed: an empty selector chooses every Service';
const valuesFit = 'In and NotIn need values, Exists and DoesNotExist have none';

const expression = z
  .strictObject({
    key: labelName,
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(labelValue).max(64).optional(),
  })
  .refine(({ operator, values = [] }) => operator.endsWith('In') === values.length > 0, valuesFit)
  .meta(
    crdRules({
      rule: "self.operator.endsWith('In') == (has(self.values) && self.values.size() > 0)",
      message: valuesFit,
    }),
  );

const labels = z
  .strictObject({
    matchLabels: z.record(labelName, labelValue).optional().describe('Labels with their values.'),
    matchExpressions: z.array(expression).max(16).optional().describe('Requirements for labels.'),
  })
  .refine(
    ({ matchLabels = {}, matchExpressions = [] }) =>
      Object.keys(matchLabels).length + matchExpressions.length > 0,
    someLabel,
  )
  .meta(
    crdRules({
      rule: '(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && self.matchExpressions.size() > 0)',
      message: someLabel,
    }),
  )
  .describe('Chooses Services of the same namespace by their labels.');

const port = z
  .union([
    z.int().min(1).max(65_535),
    z
      .string()
      .max(63)
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
  ])
  .describe('Number or name of the port of each Service; its only port of TCP unless given.');

/** Every Service with the labels is a target, under its own name. */
export const servicesInCluster = <const Field extends string, Target extends McpTarget & NetworkTarget>({
  field,
  usualPath,
  transport,
  make,
}: RemoteForm<Field, Target>) =>
  selectingForm({
    field,
    schema: z
      .strictObject({
        services: labels,
        port: port.optional(),
        path: endpointPath.optional().describe(`${usualPath} unless given.`),
      })
      .describe(
        `Services whose servers speak ${transport}: each is a target, and has the name of the Service. Names have prefixes then, unless prefixMode is never.`,
      ),
    select: ({ services, port: wanted, path = usualPath }, tools): readonly BuiltTarget<Target>[] =>
      tools.select(services).map((chosen) => {
        const { name } = chosen;
        const number = portOf(chosen, wanted);
        if (typeof number !== 'number') return { name, made: number };
        const found = tools.service({ name, port: number });
        return { name, made: 'why' in found ? found : make({ name, path, ...found }) };
      }),
  });

function portOf({ name, ports }: ChosenService, wanted: number | string | undefined): number | Refusal {
  const possible = ports.filter((one) => wanted === undefined || wanted === one.name || wanted === one.port);
  const [first] = possible;
  if (first !== undefined && possible.length === 1) return first.port;
  const message =
    wanted === undefined
      ? `Service ${name} has ${ports.length} ports of TCP: say which one`
      : `Service ${name} has no port ${wanted} of TCP`;
  return { as: 'unresolved', why: { reason: 'BackendNotFound', message } };
}

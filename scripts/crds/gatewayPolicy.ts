import {
  aboutForwarding,
  connectionNames,
  requestPolicies,
  targetKinds,
  targetPolicies,
} from '../../src/controller/translate/policyKinds.ts';
import { policyProperties } from './policySettings.ts';

const text = (maxLength: number, description: string, minLength = 1): object => ({
  type: 'string',
  minLength,
  maxLength,
  description,
});

const groups = [...new Set(targetKinds.map(({ group }) => group))];
const kindsOf = (group: string): string =>
  targetKinds
    .filter((one) => one.group === group)
    .map(({ kind }) => `'${kind}'`)
    .join(', ');
const known = groups
  .map((group) => `(self.group == '${group}' && self.kind in [${kindsOf(group)}])`)
  .join(' || ');

const targetRef = {
  type: 'object',
  required: ['group', 'kind', 'name'],
  properties: {
    group: text(253, 'Its group; empty for a Service.', 0),
    kind: text(63, targetKinds.map(({ kind }) => kind).join(', ')),
    name: text(253, 'Its name, in the namespace of the policy.'),
    sectionName: text(
      253,
      'The name of a listener, of a rule of a route, of a target of an McpBackend, or of a port of a Service.',
    ),
  },
  'x-kubernetes-validations': [
    {
      rule: known,
      message: `expected one of ${targetKinds.map(({ kind }) => kind).join(', ')}, with its group`,
    },
  ],
};

const has = (names: Iterable<string>): string =>
  [...names].map((name) => `has(self.policies.${name})`).join(' || ');
const service = targetKinds.find(({ kind }) => kind === 'Service')?.policies ?? [];
const targets = (kind: string): string =>
  `has(self.targetRefs) && self.targetRefs.exists(t, t.kind == '${kind}')`;

/** The `spec` of a GatewayPolicy: the policies of the file, each with the schema of its own. */
export const gatewayPolicySpec = (): Readonly<Record<string, unknown>> => ({
  type: 'object',
  required: ['policies'],
  properties: {
    targetRefs: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      items: targetRef,
      description:
        'What the policies are for; where it is left out, they hold where an ExtensionRef of a route names them.',
    },
    policies: {
      type: 'object',
      minProperties: 1,
      properties: policyProperties(),
      description: 'The policies, by name, as they stand in the file of a gateway.',
    },
  },
  'x-kubernetes-validations': [
    {
      rule: `!(${targets('Service')}) || self.targetRefs.all(t, t.kind == 'Service')`,
      message: 'a policy is for Services, or for what comes before them',
    },
    {
      rule: `!(${targets('Service')}) || !(${has(requestPolicies.filter((name) => !service.includes(name)))})`,
      message: `Services can have ${service.join(', ')}`,
    },
    {
      rule: `(${targets('Service')}) || !(${has(connectionNames)})`,
      message: `${connectionNames.join(', ')} are for Services`,
    },
    {
      rule: `!(${targets('McpBackend')}) || !(${has(aboutForwarding)})`,
      message: `${[...aboutForwarding].join(', ')} are not for McpBackends`,
    },
    {
      rule: `!(has(self.targetRefs) && self.targetRefs.exists(t, t.kind == 'McpBackend' && has(t.sectionName))) || !(${has(requestPolicies.filter((name) => !targetPolicies.includes(name)))})`,
      message: `a target of an McpBackend can have ${targetPolicies.join(', ')}`,
    },
  ],
});

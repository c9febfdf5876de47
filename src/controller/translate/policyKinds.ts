import { z } from 'zod';
import { backendPolicies } from '../../config/index.ts';
import {
  factsOf,
  policiesAbout,
  policiesOn,
  schemaOf as schemaOfPolicy,
  stateSharers,
  type PolicyName,
} from '../../policies/facts.ts';
import { isRecord } from '../api/object.ts';
import { GATEWAY_GROUP } from './lookup.ts';

/** The settings of a GatewayPolicy, and its targets. */

export const POLICY_GROUP = 'portcullis.dev';

/** Policies about requests. Mirrors are filters of HTTPRoute: they name a Service, where the file names any host. */
export const requestPolicies: readonly PolicyName[] = policiesOn('route').filter(
  (name) => factsOf(name)?.fileOnly !== true,
);

/** The setting that needs a store beside the proxies; undefined where there is none. */
export function sharedSetting(name: string, settings: unknown): string | undefined {
  const entries = isRecord(settings) ? Object.values(settings).flat() : [settings].flat();
  for (const { policy, field, value } of stateSharers)
    if (policy === name && entries.some((entry) => isRecord(entry) && entry[field] === value))
      return `${field}: ${value}`;
  return undefined;
}

/** The policies that a Service may have as well: for the requests that go there. */
const ofServices: ReadonlySet<string> = new Set(policiesOn('service'));
export const backendSteps: readonly PolicyName[] = requestPolicies.filter((name) => ofServices.has(name));

/** The policies about an HTTP request that is forwarded as it is: no such request goes to MCP servers. */
const forwarding = policiesAbout('forwarding');
export const aboutForwarding: ReadonlySet<string> = new Set(
  requestPolicies.filter((name) => forwarding.has(name)),
);

const { health, connections, tcp, http, sessionAffinity } = backendPolicies.shape;

/**
 * The settings of connections to a Service: as `policies` of a backend of the file. TLS and the version of HTTP
 * are said by BackendTLSPolicy and `appProtocol`.
 */
export const connectionPolicies = z.strictObject({
  health,
  connections,
  tcp,
  http: z
    .strictObject({ requestTimeout: http.unwrap().shape.requestTimeout })
    .optional()
    .describe('Requests to it.'),
  sessionAffinity,
});

export type ConnectionName = keyof typeof connectionPolicies.shape;
export const connectionNames = Object.keys(connectionPolicies.shape) as readonly ConnectionName[];

/** The name, where it is one of a policy about requests. */
export const requestPolicyNamed = (name: string): PolicyName | undefined =>
  requestPolicies.find((one) => one === name);

export const schemaOf = (name: string): z.ZodType | undefined => {
  const policy = requestPolicyNamed(name);
  if (policy !== undefined) return schemaOfPolicy(policy);
  return connectionNames.includes(name as ConnectionName)
    ? (connectionPolicies.shape[name as ConnectionName] as z.ZodType)
    : undefined;
};

/** The policies for requests to one of the targets of an McpBackend, as under `policies` of a target of the file. */
export const targetPolicies: readonly PolicyName[] = policiesOn('target').filter((name) =>
  requestPolicies.includes(name),
);

interface TargetKind {
  readonly group: string;
  readonly kind: string;
  /** The section that `sectionName` names. */
  readonly section: string;
  /** Policies that can be for it. */
  readonly policies: readonly string[];
  /** Policies that can be for a section of it. */
  readonly ofSection: readonly string[];
}

const about = (
  group: string,
  kind: string,
  section: string,
  policies: readonly string[] = requestPolicies,
  ofSection: readonly string[] = policies,
): TargetKind => ({ group, kind, section, policies, ofSection });

/** A kind is one row here, and one rule of the CRD. */
export const targetKinds: readonly TargetKind[] = [
  about(GATEWAY_GROUP, 'Gateway', 'listener'),
  about(GATEWAY_GROUP, 'ListenerSet', 'listener'),
  about(GATEWAY_GROUP, 'HTTPRoute', 'rule'),
  about(GATEWAY_GROUP, 'GRPCRoute', 'rule'),
  about(
    POLICY_GROUP,
    'McpBackend',
    'target',
    requestPolicies.filter((name) => !aboutForwarding.has(name)),
    targetPolicies,
  ),
  about('', 'Service', 'port', [...connectionNames, ...backendSteps]),
];

export const targetKind = (group: string, kind: string): TargetKind | undefined =>
  targetKinds.find((one) => one.group === group && one.kind === kind);

/**
 * Allows plain text for a Service only, and TLS for everything: a key set that an attacker can change is
 * worthless.
 */
export const keySetUrl =
  /^(https:\/\/|http:\/\/[a-z0-9]([-a-z0-9]*[a-z0-9])?\.[a-z0-9]([-a-z0-9]*[a-z0-9])?\.svc(\.cluster\.local)?(:[0-9]{1,5})?(\/|$))/;
export const keySetUrlRule =
  'expected https://, or http:// and the name of a Service: NAME.NAMESPACE.svc, with .cluster.local or without';

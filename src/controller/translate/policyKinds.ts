import { z } from 'zod';
import { backendPolicies } from '../../config/index.ts';
import {
  factsOf,
  policiesAbout,
  policiesOn,
  schemaOf as schemaOfPolicy,
  type PolicyName,
} from '../../policies/facts.ts';
import { GATEWAY_GROUP } from './lookup.ts';

/** What a GatewayPolicy can hold, and what it can be for. */

export const POLICY_GROUP = 'portcullis.dev';

/** Policies about requests. Mirrors are filters of HTTPRoute: they name a Service, where the file names any host. */
export const requestPolicies: readonly PolicyName[] = policiesOn('route').filter(
  (name) => factsOf(name)?.fileOnly !== true,
);

/** Those of them that a Service may have as well: for the requests that go there. */
const ofServices: ReadonlySet<string> = new Set(policiesOn('service'));
export const backendSteps: readonly PolicyName[] = requestPolicies.filter((name) => ofServices.has(name));

/** What is about an HTTP request that is forwarded as it is: none such is sent to MCP servers. */
const forwarding = policiesAbout('forwarding');
export const aboutForwarding: ReadonlySet<string> = new Set(
  requestPolicies.filter((name) => forwarding.has(name)),
);

const { health, connections, tcp, http, sessionAffinity } = backendPolicies.shape;

/**
 * How connections to a Service are made: as `policies` of a backend of the file. TLS and the version of HTTP are said
 * by BackendTLSPolicy and `appProtocol`.
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

interface TargetKind {
  readonly group: string;
  readonly kind: string;
  /** What `sectionName` names; undefined where there is nothing to be named. */
  readonly section: string | undefined;
  /** Policies that can be for it. */
  readonly policies: readonly string[];
}

const about = (
  group: string,
  kind: string,
  section: string | undefined,
  policies: readonly string[] = requestPolicies,
): TargetKind => ({ group, kind, section, policies });

/** A kind is one row here, and one rule of the CRD. */
export const targetKinds: readonly TargetKind[] = [
  about(GATEWAY_GROUP, 'Gateway', 'listener'),
  about(GATEWAY_GROUP, 'ListenerSet', 'listener'),
  about(GATEWAY_GROUP, 'HTTPRoute', 'rule'),
  about(GATEWAY_GROUP, 'GRPCRoute', 'rule'),
  about(
    POLICY_GROUP,
    'McpBackend',
    undefined,
    requestPolicies.filter((name) => !aboutForwarding.has(name)),
  ),
  about('', 'Service', 'port', [...connectionNames, ...backendSteps]),
];

export const targetKind = (group: string, kind: string): TargetKind | undefined =>
  targetKinds.find((one) => one.group === group && one.kind === kind);

/** Of a Service in plain text, of anything else with TLS only: a key set that somebody can change is none. */
export const keySetUrl =
  /^(https:\/\/|http:\/\/[a-z0-9]([-a-z0-9]*[a-z0-9])?\.[a-z0-9]([-a-z0-9]*[a-z0-9])?\.svc(\.cluster\.local)?(:[0-9]{1,5})?(\/|$))/;
export const keySetUrlRule =
  'expected https://, or http:// and the name of a Service: NAME.NAMESPACE.svc, with .cluster.local or without';

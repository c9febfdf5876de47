import type { Named } from './meta.ts';
import type { PolicyStatus } from './policies.ts';

/** GatewayPolicy of `portcullis.dev/v1alpha1`: policies for Gateways, routes and backends of its namespace. */
export interface GatewayPolicy extends Named {
  readonly spec?: {
    /** None: it holds where an `ExtensionRef` names it. */
    readonly targetRefs?: readonly PolicyTarget[];
    /** By name; each is read by the schema of that policy. */
    readonly policies?: Readonly<Record<string, unknown>>;
  };
  readonly status?: PolicyStatus;
}

/** The target of a policy; in the namespace of the policy. */
export interface PolicyTarget {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  /** A listener, a rule of a route, or a port of a Service, by name. */
  readonly sectionName?: string;
}

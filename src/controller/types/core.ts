import type { Named } from './meta.ts';

/** Kinds of the core and `discovery.k8s.io` groups, as far as they are read. */

export interface Service extends Named {
  readonly spec?: {
    readonly type?: string;
    readonly ports?: readonly ServicePort[];
    /** The first is the primary one. */
    readonly ipFamilies?: readonly string[];
  };
}

export interface ServicePort {
  /** Absent or empty where the Service has one port only. */
  readonly name?: string;
  /** `TCP` by default. */
  readonly protocol?: string;
  readonly appProtocol?: string;
  readonly port: number;
}

/** Some of the endpoints of a Service, which its label `kubernetes.io/service-name` names. */
export interface EndpointSlice extends Named {
  /** `IPv4`, `IPv6`, or `FQDN`. */
  readonly addressType: string;
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: readonly EndpointPort[] | null;
}

export interface Endpoint {
  /** They are all of one endpoint: any of them may be used. */
  readonly addresses: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
  readonly nodeName?: string;
  readonly zone?: string;
}

/** Named as the port of the Service that it belongs to; the number is that of the pod. */
export interface EndpointPort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
}

export interface Secret extends Named {
  readonly type?: string;
  /** Values in Base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Entries that are there and were left out, since only pods read them. */
  readonly named?: readonly string[];
  /** Entries that were left out when it was read, since they are larger than is kept. */
  readonly tooLarge?: readonly string[];
  /** The reason why its data was left out, though it has some. */
  readonly withheld?: Withheld;
}

/** `unread`: nobody has asked for it so far. `overBudget`: others of its namespace take what there is for it. */
export type Withheld = 'unread' | 'overBudget';

export interface ConfigMap extends Named {
  readonly data?: Readonly<Record<string, string>>;
  /** As that of a Secret. */
  readonly tooLarge?: readonly string[];
  readonly withheld?: Withheld;
}

export type Namespace = Named;
export type Node = Named;

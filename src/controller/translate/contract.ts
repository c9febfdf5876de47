import type { z } from 'zod';
import type { BackendAddress, Model, ProcessSettings } from '../../model/index.ts';
import type { KubeObject } from '../api/object.ts';
import type { podResources } from '../../schema/index.ts';
import type {
  BackendTLSPolicy,
  ConfigMap,
  EndpointSlice,
  Gateway,
  GatewayAddress,
  GatewayClass,
  GatewayPolicy,
  GrpcRoute,
  HttpRoute,
  ListenerSet,
  McpBackend,
  Namespace,
  Node,
  ReferenceGrant,
  Secret,
  Service,
  TcpRoute,
  TlsRoute,
  UdpRoute,
} from '../types/index.ts';

import type { Defect } from './guard.ts';

/** Everything the translation reads, as it stood at one moment. Nothing of it is changed. */
export interface KubeObjects {
  readonly gatewayClasses: readonly GatewayClass[];
  readonly gateways: readonly Gateway[];
  readonly listenerSets: readonly ListenerSet[];
  readonly httpRoutes: readonly HttpRoute[];
  readonly grpcRoutes: readonly GrpcRoute[];
  readonly tlsRoutes: readonly TlsRoute[];
  readonly tcpRoutes: readonly TcpRoute[];
  readonly udpRoutes: readonly UdpRoute[];
  readonly referenceGrants: readonly ReferenceGrant[];
  readonly backendTLSPolicies: readonly BackendTLSPolicy[];
  readonly gatewayPolicies: readonly GatewayPolicy[];
  readonly mcpBackends: readonly McpBackend[];
  /** PortcullisParameters: of proxies, not of models. */
  readonly parameters: readonly KubeObject[];
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  readonly secrets: readonly Secret[];
  readonly configMaps: readonly ConfigMap[];
  readonly namespaces: readonly Namespace[];
  readonly nodes: readonly Node[];
}

/** An object that a `parametersRef` may name. */
export interface Parameters {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** The reason why it cannot be used, if there is one. */
  readonly problem?: string;
  /** The rights that it gives McpBackends, if it names any. */
  readonly mcp?: McpRights;
  /** It names a store that the proxies of a Gateway share. */
  readonly store?: true;
  /** The Secrets that the pods of a Gateway mount, by the field; null for a field that needs none. */
  readonly secrets?: Readonly<Record<string, NeededSecret | null>>;
}

/** A Secret in the namespace of the Gateway. */
export interface NeededSecret {
  readonly secretName: string;
  /** The entries that it must have. */
  readonly entries: readonly string[];
}

/**
 * Right (`clusterRights`) → the namespaces whose McpBackends have it. Each allows what not everybody may ask a Gateway
 * for; none by default.
 */
export type McpRights = Readonly<Record<string, McpRight | undefined>>;

/** `Same`: that of the Gateway. */
export type McpRight = 'None' | 'Same' | 'All';

/** The known facts about the proxies that serve a Gateway, and their addresses. */
export interface Infrastructure {
  /** The addresses where clients reach it now. */
  readonly addresses: readonly GatewayAddress[];
  /** The requested addresses that cannot be had. */
  readonly unusable?: readonly string[];
  /** The reason why it does not serve yet, if it does not. */
  readonly pending?: string;
}

/** The known facts about the pod of a target. */
export interface PodInfrastructure {
  /** Its Service is there, and ours: another's of that name would be told the key. */
  readonly reachable: boolean;
  /** The reason why it does not serve yet, if it does not. */
  readonly pending?: string;
}

/** The pods of the targets of McpBackends that want one of their own, by `namespace/name/target` (`podKeyOf`). */
export interface PodSurroundings {
  readonly infrastructure: ReadonlyMap<string, PodInfrastructure>;
  /** The key that lets proxies in: each pod has its own. Undefined while it is not known. */
  readonly key: (pod: string) => string | undefined;
  /** Whether keys are known by now, as they are moments after the start. */
  readonly isKnown: boolean;
}

/** The parts of its Gateway's model that a proxy cannot serve. */
export interface ProxyTrouble {
  /** The reasons why it rejects the whole model, so that the one before stays in use; empty if it does not. */
  readonly refused: readonly string[];
  /** Routes of the model, by name, that answer 500 and why. */
  readonly broken: readonly { readonly route: string; readonly problem: string }[];
  /** Ports of the model that it could not bind. */
  readonly closed?: readonly {
    readonly port: number;
    readonly protocol: 'TCP' | 'UDP';
    readonly problem: string;
  }[];
}

export interface TranslateOptions {
  /** The controller name in our GatewayClasses; objects of others are left alone. */
  readonly controllerName: string;
  /** The time that is written when a condition changes: RFC 3339, in seconds. */
  readonly now: string;
  /** The same for every proxy. */
  readonly process: ProcessSettings;
  /** By `namespace/name` of the Gateway; nothing is served yet where there is none. */
  readonly infrastructure: ReadonlyMap<string, Infrastructure>;
  /** By `namespace/name` of the Gateway: what its proxies say they cannot do of its model. */
  readonly troubles?: ReadonlyMap<string, readonly ProxyTrouble[]>;
  readonly parameters: readonly Parameters[];
  /** Left out where nobody makes pods of McpBackends. */
  readonly pods?: PodSurroundings | undefined;
  /** Versions of the CRDs of the Gateway API that the cluster holds (annotation `bundle-version`). */
  readonly bundleVersions: readonly string[];
}

export interface Translation {
  /** By `namespace/name`; the Gateways that are accepted. */
  readonly models: ReadonlyMap<string, GatewayModel>;
  /** The pods that targets of McpBackends are to have, by `namespace/name/target` (`podKeyOf`). */
  readonly pods: ReadonlyMap<string, McpPod>;
  /** For every key that a model names. */
  readonly endpoints: EndpointTable;
  /** Every object of ours, changed or not. */
  readonly report: readonly StatusUpdate[];
  /** Objects that broke the translation (a defect of ours); the others are as they would be without them. */
  readonly defects: readonly Defect[];
}

export interface GatewayModel {
  /** Its backends name their addresses by key; `joinEndpoints` fills them in. */
  readonly model: Model;
  /** The keys it names. */
  readonly endpoints: ReadonlySet<string>;
}

/** The pod of a target of an McpBackend. */
export interface McpPod {
  readonly object: McpBackend;
  readonly target: string;
  /** The Gateways whose proxies are let in; at least one. */
  readonly gateways: readonly Gateway[];
  /** The image; that of the controller unless given. */
  readonly image?: string;
  readonly resources?: PodResources;
  /** The model to serve; undefined if it is unknown at present, so that the pod goes on with what it has. */
  readonly model: GatewayModel | undefined;
}

export type PodResources = z.output<typeof podResources>;

/** Addresses of a port of a Service by `namespace/name:port/protocol`. */
export type EndpointTable = ReadonlyMap<string, readonly BackendAddress[]>;

/** The kinds that have a status of ours. */
export type StatusKind =
  | 'GatewayClass'
  | 'Gateway'
  | 'ListenerSet'
  | 'HTTPRoute'
  | 'GRPCRoute'
  | 'TLSRoute'
  | 'TCPRoute'
  | 'UDPRoute'
  | 'BackendTLSPolicy'
  | 'GatewayPolicy'
  | 'McpBackend';

/** The wanted `status` of an object, others' parts of it included. */
export interface StatusUpdate {
  readonly kind: StatusKind;
  readonly namespace?: string;
  readonly name: string;
  /** The version of the object it was made from: a write with it fails if the object has changed meanwhile. */
  readonly resourceVersion?: string;
  readonly status: object;
  /** False where the object has it already. */
  readonly changed: boolean;
}

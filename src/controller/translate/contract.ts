import type { z } from 'zod';
import type { BackendAddress, Model, ProcessSettings } from '../../model/index.ts';
import type { KubeObject } from '../api/object.ts';
import type { podResources } from '../podResources.ts';
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
  /** Why it cannot be used, where it cannot. */
  readonly problem?: string;
  /** What it allows McpBackends, where it says so. */
  readonly mcp?: Partial<McpRights>;
}

/** From which namespaces McpBackends may have a Gateway do what not everybody may ask for. */
export interface McpRights {
  /** Start programs. */
  readonly stdio: McpRight;
  /** Have programs run in pods of their own, in the namespace of the McpBackend. */
  readonly pods: McpRight;
  /** Send requests out of the cluster. */
  readonly hosts: McpRight;
}

/** `Same`: that of the Gateway. */
export type McpRight = 'None' | 'Same' | 'All';

/** What is known of the proxies that serve a Gateway, and of the ways to them. */
export interface Infrastructure {
  /** Where clients reach it now. */
  readonly addresses: readonly GatewayAddress[];
  /** Of those that the Gateway asks for, the ones that cannot be had. */
  readonly unusable?: readonly string[];
  /** Why it does not serve yet, where it does not. */
  readonly pending?: string;
}

/** What is known of the pod of an McpBackend. */
export interface PodInfrastructure {
  /** Its Service is there, and ours: another's of that name would be told the key. */
  readonly reachable: boolean;
  /** Why it does not serve yet, where it does not. */
  readonly pending?: string;
}

/** The pods of McpBackends that want one of their own. */
export interface PodSurroundings {
  /** By `namespace/name` of the McpBackend. */
  readonly infrastructure: ReadonlyMap<string, PodInfrastructure>;
  /**
   * What proxies show to be let in, by `namespace/name`: for each McpBackend another one. Undefined while it is not
   * known.
   */
  readonly key: (backend: string) => string | undefined;
  /** Whether keys are known by now, as they are moments after the start. */
  readonly isKnown: boolean;
}

/** What a proxy cannot do of the model of its Gateway. */
export interface ProxyTrouble {
  /** Why it does not take the model at all, so that the one before stays in use; empty where it does. */
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
  /** That of our GatewayClasses; everything that belongs to others is left alone. */
  readonly controllerName: string;
  /** What is written where a condition changes: RFC 3339, in seconds. */
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
  /** By `namespace/name`; the McpBackends that are to have a pod of their own. */
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

/** The pod of an McpBackend. */
export interface McpPod {
  readonly object: McpBackend;
  /** The Gateways whose proxies are let in; at least one. */
  readonly gateways: readonly Gateway[];
  /** That of the controller unless given. */
  readonly image?: string;
  readonly resources?: PodResources;
  /** What it is to do; undefined where that cannot be said at present, so that it goes on with what it has. */
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

/** What the `status` of an object ought to be, others' parts of it included. */
export interface StatusUpdate {
  readonly kind: StatusKind;
  readonly namespace?: string;
  readonly name: string;
  /** That of the object it was made from: a write with it fails where the object has changed meanwhile. */
  readonly resourceVersion?: string;
  readonly status: object;
  /** False where the object has it already. */
  readonly changed: boolean;
}

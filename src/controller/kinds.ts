import { descriptionEntries } from '../mcp/targets/facts.ts';
import { auditEntries } from '../model/index.ts';
import { entriesIn } from '../policies/facts.ts';
import { isRecord, type KubeObject } from './api/object.ts';
import type { Resource } from './api/resource.ts';
import { isForPrograms, limitOf, type KubeObjects } from './translate/index.ts';
import type { Selection } from './watch/listWatch.ts';
import { identityOf, trimAnnotations, type Trim } from './watch/trim.ts';

/** A kind that the controller follows. */
export interface WatchedKind extends Selection {
  /** The field in which the translation finds its objects. */
  readonly field: keyof KubeObjects;
  readonly resource: Resource;
  readonly trim: Trim<KubeObject>;
  /** A change of it changes nothing but the addresses of backends. */
  readonly addressesOnly?: true;
}

const gatewayApi = (plural: string, kind: string, version = 'v1'): Resource => ({
  group: 'gateway.networking.k8s.io',
  version,
  plural,
  kind,
  namespaced: kind !== 'GatewayClass',
});

const own = (plural: string, kind: string): Resource => ({
  group: 'portcullis.dev',
  version: 'v1alpha1',
  plural,
  kind,
  namespaced: true,
});

const core = (plural: string, kind: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

/** Only the fields that are read are kept, since there may be thousands of objects. */
const trimMetadataOnly: Trim<KubeObject> = ({ apiVersion, kind, ...object }) => ({
  apiVersion,
  kind,
  metadata: identityOf({ apiVersion, kind, ...object }, 'labels'),
});

const trimService: Trim<KubeObject> = (object) => {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  const { type, ports, ipFamilies } = spec;
  return { ...trimMetadataOnly(object), spec: { type, ports, ipFamilies } };
};

const trimSlice: Trim<KubeObject> = (object) => {
  const endpoints = Array.isArray(object['endpoints']) ? (object['endpoints'] as readonly unknown[]) : [];
  return {
    ...trimMetadataOnly(object),
    addressType: object['addressType'],
    ports: object['ports'],
    endpoints: endpoints.filter(isRecord).map(({ addresses, conditions, nodeName, zone }) => ({
      addresses,
      ...(conditions === undefined ? {} : { conditions }),
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(zone === undefined ? {} : { zone }),
    })),
  };
};

/**
 * The controller keeps nothing of the Secrets of a whole cluster in memory but what listeners and policies may be given, and of that
 * no entry that is larger than its limit: it is named, so that a status can tell.
 */
const trimData = (object: KubeObject, isKept: (name: string) => boolean): KubeObject => {
  const { data, type } = object;
  const kept: [string, unknown][] = [];
  const tooLarge: string[] = [];
  const named: string[] = [];
  for (const [name, value] of isRecord(data) ? Object.entries(data) : [])
    if (!isKept(name)) {
      if (namedEntries.has(name)) named.push(name);
    } else if (typeof value === 'string' && bytesOf(object, value) > limitOf(name)) tooLarge.push(name);
    else kept.push([name, value]);
  return {
    ...trimMetadataOnly(object),
    data: Object.fromEntries(kept),
    ...(tooLarge.length === 0 ? {} : { tooLarge }),
    ...(named.length === 0 ? {} : { named }),
    ...(type === undefined ? {} : { type }),
  };
};

/** The values of a Secret are Base64. */
const bytesOf = ({ kind }: KubeObject, value: string): number =>
  Buffer.byteLength(value, kind === 'Secret' ? 'base64' : 'utf8');

const ofSecrets: ReadonlySet<string> = new Set(['tls.crt', 'tls.key', 'ca.crt', ...entriesIn('secret')]);
const ofMaps: ReadonlySet<string> = new Set([
  'ca.crt',
  ...entriesIn('configMap'),
  ...Object.keys(descriptionEntries),
]);

/** Entries that only pods read: the controller wants to know that they are there. */
const namedEntries: ReadonlySet<string> = new Set([auditEntries.chainKey]);

/** Secrets for the programs of McpBackends keep every entry: their label asks for it. */
const trimSecret: Trim<KubeObject> = (object) =>
  trimData(object, (name) => ofSecrets.has(name) || isForPrograms(object.metadata));

const trimMap: Trim<KubeObject> = (object) => trimData(object, (name) => ofMaps.has(name));

/** Everything that the translation reads: a kind is one row here. */
export const watchedKinds: readonly WatchedKind[] = [
  { field: 'gatewayClasses', resource: gatewayApi('gatewayclasses', 'GatewayClass'), trim: trimAnnotations },
  { field: 'gateways', resource: gatewayApi('gateways', 'Gateway'), trim: trimAnnotations },
  { field: 'listenerSets', resource: gatewayApi('listenersets', 'ListenerSet'), trim: trimAnnotations },
  { field: 'httpRoutes', resource: gatewayApi('httproutes', 'HTTPRoute'), trim: trimAnnotations },
  { field: 'grpcRoutes', resource: gatewayApi('grpcroutes', 'GRPCRoute'), trim: trimAnnotations },
  { field: 'tlsRoutes', resource: gatewayApi('tlsroutes', 'TLSRoute'), trim: trimAnnotations },
  { field: 'tcpRoutes', resource: gatewayApi('tcproutes', 'TCPRoute'), trim: trimAnnotations },
  { field: 'udpRoutes', resource: gatewayApi('udproutes', 'UDPRoute'), trim: trimAnnotations },
  // Served by every release of the Gateway API there is; v1 is not.
  {
    field: 'referenceGrants',
    resource: gatewayApi('referencegrants', 'ReferenceGrant', 'v1beta1'),
    trim: trimAnnotations,
  },
  {
    field: 'backendTLSPolicies',
    resource: gatewayApi('backendtlspolicies', 'BackendTLSPolicy'),
    trim: trimAnnotations,
  },
  { field: 'gatewayPolicies', resource: own('gatewaypolicies', 'GatewayPolicy'), trim: trimAnnotations },
  { field: 'mcpBackends', resource: own('mcpbackends', 'McpBackend'), trim: trimAnnotations },
  {
    field: 'parameters',
    resource: own('portcullisparameters', 'PortcullisParameters'),
    trim: trimAnnotations,
  },
  { field: 'services', resource: core('services', 'Service'), trim: trimService },
  {
    field: 'endpointSlices',
    resource: {
      group: 'discovery.k8s.io',
      version: 'v1',
      plural: 'endpointslices',
      kind: 'EndpointSlice',
      namespaced: true,
    },
    trim: trimSlice,
    addressesOnly: true,
  },
  {
    field: 'secrets',
    resource: core('secrets', 'Secret'),
    trim: trimSecret,
    // The bulk of most clusters: releases of Helm, up to a megabyte each, and tokens.
    fieldSelector: 'type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token',
  },
  { field: 'configMaps', resource: core('configmaps', 'ConfigMap'), trim: trimMap },
  {
    field: 'namespaces',
    resource: core('namespaces', 'Namespace', false),
    trim: trimMetadataOnly,
    metadataOnly: true,
  },
  {
    field: 'nodes',
    resource: core('nodes', 'Node', false),
    trim: trimMetadataOnly,
    metadataOnly: true,
    addressesOnly: true,
  },
];

/** The installed kinds; their annotations tell which release of the Gateway API it is. */
export const crdResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export const bundleVersionAnnotation = 'gateway.networking.k8s.io/bundle-version';

export const trimCrd: Trim<KubeObject> = (object) => {
  const { name } = object.metadata;
  const version = object.metadata.annotations?.[bundleVersionAnnotation];
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...identityOf(object),
      ...(version === undefined ? {} : { annotations: { [bundleVersionAnnotation]: version } }),
      name,
    },
  };
};

const byKind = new Map(watchedKinds.map(({ resource }) => [resource.kind, resource]));

/** The resource of a kind that the controller follows; undefined for others. */
export const resourceOfKind = (kind: string): Resource | undefined => byKind.get(kind);

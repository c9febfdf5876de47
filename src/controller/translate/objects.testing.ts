import { parseAllDocuments } from 'yaml';
import { defaults } from '../../model/index.ts';
import { authority } from '../../proxy/certificates.testing.ts';
import type { ObjectMeta } from '../api/object.ts';
import type {
  Infrastructure,
  KubeObjects,
  Parameters,
  PodInfrastructure,
  ProxyTrouble,
  TranslateOptions,
} from './contract.ts';

/** The facts of a test that are no objects of the cluster. */
interface Surroundings {
  readonly infrastructure?: Readonly<Record<string, Infrastructure>>;
  readonly troubles?: Readonly<Record<string, readonly ProxyTrouble[]>>;
  readonly parameters?: readonly Parameters[];
  readonly bundleVersions?: readonly string[];
  /** Pods of McpBackends; each key is `key of NAMESPACE/NAME`, where they are known. */
  readonly pods?: {
    readonly keys: boolean;
    readonly infrastructure?: Readonly<Record<string, PodInfrastructure>>;
  };
}

interface Document {
  readonly kind: string;
  readonly metadata?: ObjectMeta;
  readonly [field: string]: unknown;
}

export const controllerName = 'portcullis.dev/gateway';
export const now = '2026-02-02T02:02:02Z';

const slots: Readonly<Record<string, keyof KubeObjects>> = {
  GatewayClass: 'gatewayClasses',
  Gateway: 'gateways',
  ListenerSet: 'listenerSets',
  HTTPRoute: 'httpRoutes',
  GRPCRoute: 'grpcRoutes',
  TLSRoute: 'tlsRoutes',
  TCPRoute: 'tcpRoutes',
  UDPRoute: 'udpRoutes',
  ReferenceGrant: 'referenceGrants',
  BackendTLSPolicy: 'backendTLSPolicies',
  GatewayPolicy: 'gatewayPolicies',
  McpBackend: 'mcpBackends',
  PortcullisParameters: 'parameters',
  Service: 'services',
  EndpointSlice: 'endpointSlices',
  Secret: 'secrets',
  ConfigMap: 'configMaps',
  Namespace: 'namespaces',
  Node: 'nodes',
};

const ca = authority('golden');
const pairs = Object.fromEntries(
  ['a', 'b'].map((name) => [name, ca.issue({ names: [`${name}.example.com`], name })] as const),
);

/** Placeholders in the files for what is made anew in every run. */
const secrets: ReadonlyMap<string, string> = new Map([
  ['@ca.crt', ca.cert],
  ...Object.entries(pairs).flatMap(([name, { cert, key }]) => [
    [`@${name}.crt`, cert] as const,
    [`@${name}.key`, key] as const,
  ]),
]);

/**
 * The YAML of a GatewayClass, and of the Gateway `gate` with listeners in the flow style.
 * @param others fields of its `spec` in the same style
 */
export const gateWith = (listeners: string, others = ''): string => `
kind: GatewayClass
metadata: { name: portcullis }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Gateway
metadata: { name: gate }
spec: { gatewayClassName: portcullis, listeners: [${listeners}], ${others} }
---`;

/** Everything in a text of several YAML documents: objects, and at most one of kind `Surroundings`. */
export function readObjects(text: string): { objects: KubeObjects; options: TranslateOptions } {
  const objects = Object.fromEntries(Object.values(slots).map((slot) => [slot, [] as unknown[]]));
  let surroundings: Surroundings = {};
  for (const parsed of parseAllDocuments(text)) {
    if (!('toJS' in parsed)) continue;
    if (parsed.errors.length > 0) throw parsed.errors[0] as Error;
    const document = parsed.toJS() as Document;
    if (document.kind === 'Surroundings') surroundings = document as Surroundings;
    else {
      const slot = slots[document.kind];
      if (slot === undefined) throw new Error(`no kind ${document.kind}`);
      objects[slot]?.push(withDefaults(document));
    }
  }
  return {
    objects: objects as unknown as KubeObjects,
    options: {
      controllerName,
      now,
      process: defaults,
      infrastructure: new Map(Object.entries(surroundings.infrastructure ?? {})),
      troubles: new Map(Object.entries(surroundings.troubles ?? {})),
      parameters: surroundings.parameters ?? [],
      ...(surroundings.pods === undefined
        ? {}
        : {
            pods: {
              infrastructure: new Map(Object.entries(surroundings.pods.infrastructure ?? {})),
              isKnown: surroundings.pods.keys,
              key: (backend) => (surroundings.pods?.keys === true ? `key of ${backend}` : undefined),
            },
          }),
      bundleVersions: surroundings.bundleVersions ?? ['v1.6.3'],
    },
  };
}

/** Adds the fields that every object of the API server has, so that the files need not have them. */
function withDefaults(document: Document): object {
  const metadata = {
    ...(clusterScoped.has(document.kind) ? {} : { namespace: 'default' }),
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...document.metadata,
  };
  const { data } = document;
  if (typeof data !== 'object' || data === null) return { ...document, metadata };
  const encode = (text: string): string =>
    document.kind === 'Secret' ? Buffer.from(text).toString('base64') : text;
  const filled = Object.entries(data).map(([name, value]) => {
    const text = secrets.get(value as string);
    return [name, text === undefined ? value : encode(text)] as const;
  });
  return { ...document, metadata, data: Object.fromEntries(filled) };
}

const clusterScoped: ReadonlySet<string> = new Set(['GatewayClass', 'Namespace', 'Node']);

/** The same data with placeholders where the texts were. */
export function withPlaceholders(data: unknown): unknown {
  if (typeof data === 'string') {
    let text = data;
    for (const [placeholder, pem] of secrets) text = text.replaceAll(pem, `${placeholder}\n`);
    return text === data ? data : text.trim();
  }
  if (Array.isArray(data)) return data.map(withPlaceholders);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, withPlaceholders(value)]));
}

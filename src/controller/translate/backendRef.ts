import type { HttpBackend } from '../../model/index.ts';
import type { BackendRef, Service, ServicePort } from '../types/index.ts';
import type { BackendTlsPolicies } from './backendTls.ts';
import { problem, type Problem } from './conditions.ts';
import { endpointKey } from './endpoints.ts';
import { written, type Party } from './grants.ts';
import { namespaceOf, type GatewayState } from './state.ts';

/** The protocol towards a backend: decided by the kind of route, then by its Service. */
export type Spoken = 'http' | 'grpc' | 'tls' | 'tcp' | 'udp';

/** The destination of requests, in the words of the model. */
export type Target = Pick<HttpBackend, 'host' | 'port' | 'tls' | 'http2'> & {
  /** Key of its addresses. */
  readonly endpoints: string;
};

/** The route that refers to a backend. */
export interface Asker {
  /** The route. */
  readonly from: Party;
  readonly spoken: Spoken;
  /** The Gateway that the route names as its parent. */
  readonly gateway: GatewayState;
  /** It is part of the Gateway, so that what it uses is used. */
  readonly attached: boolean;
}

const mcpBackend = { group: 'portcullis.dev', kind: 'McpBackend' };

/** An McpBackend of a namespace, as a party of references. */
export const mcpParty = (namespace: string): Party => ({ ...mcpBackend, namespace });

/** Tells whether a reference names an McpBackend. */
export const isMcpRef = ({ group, kind }: BackendRef): boolean =>
  group === mcpBackend.group && kind === mcpBackend.kind;

/** Follows the references of routes to Services. */
export class BackendResolver {
  private readonly policies: BackendTlsPolicies;

  constructor(policies: BackendTlsPolicies) {
    this.policies = policies;
  }

  resolve(reference: BackendRef, asker: Asker): Target | Problem {
    const { from, spoken, gateway, attached } = asker;
    const { grants, services } = gateway.lookup;
    const { group = '', kind = 'Service', name, port } = reference;
    const namespace = namespaceOf(reference, from.namespace);
    const what = written(kind, namespace, name);
    if (isMcpRef(reference))
      return problem('InvalidKind', `${what} is a backend of rules of HTTPRoutes, and nothing else`);
    if (group !== '' || kind !== 'Service')
      return problem('InvalidKind', `${what} of group ${group === '' ? 'core' : group} is no backend`);
    if (!grants.permit(from, { group, kind, namespace }, name))
      return problem('RefNotPermitted', `${what}: no ReferenceGrant allows it`);
    const service = services.get(`${namespace}/${name}`);
    if (service === undefined) return problem('BackendNotFound', `${what}: there is none`);
    // A user who may write a Service could send the gateway anywhere, its own admin port included.
    if (service.spec?.type === 'ExternalName')
      return problem('InvalidKind', `${what}: a Service of type ExternalName is no backend`);
    const protocol = spoken === 'udp' ? 'UDP' : 'TCP';
    const found = service.spec?.ports?.find(
      (one) => one.port === port && (one.protocol ?? 'TCP') === protocol,
    );
    if (found === undefined)
      return problem(
        'BackendNotFound',
        `${what}: it has no port ${port ?? '(none is named)'} of ${protocol}`,
      );
    const way = this.way(service, found, asker);
    if ('reason' in way) return problem(way.reason, `${what}: ${way.message}`);
    const endpoints = endpointKey(`${namespace}/${name}`, found);
    if (attached) gateway.endpoints.add(endpoints);
    return { host: `${name}.${namespace}.svc`, port: found.port, endpoints, ...way };
  }

  /** The settings of connections to it. */
  private way(
    service: Service,
    port: ServicePort,
    { spoken, gateway, attached }: Asker,
  ): Pick<Target, 'tls' | 'http2'> | Problem {
    if (spoken === 'tcp' || spoken === 'udp') return {};
    if (attached) this.policies.noteUse(service, gateway);
    const policy = this.policies.find(service, port);
    const protocol = spoken === 'tls' ? {} : protocolOf(port, spoken);
    if ('reason' in protocol) return protocol;
    if (policy !== undefined && 'reason' in policy) return policy;
    if (policy === undefined)
      return protocol.secure === true
        ? problem('UnsupportedProtocol', `appProtocol ${port.appProtocol} needs a BackendTLSPolicy`)
        : http2Of(protocol);
    const { client } = gateway;
    // Not without encryption, and not under another name: who asked for either would not learn of it.
    if (policy.tls === undefined)
      return problem('InvalidBackendTLSPolicy', policy.invalid?.message ?? 'its BackendTLSPolicy is invalid');
    if (client !== undefined && 'reason' in client)
      return problem('InvalidClientCertificate', `the Gateway has no client certificate: ${client.message}`);
    return { ...http2Of(protocol), tls: client === undefined ? policy.tls : { ...policy.tls, client } };
  }
}

interface Protocol {
  readonly http2?: true;
  readonly secure?: true;
}

/** The meaning of the usual names (KEP-3726, and those that came before it). Any other name says nothing to us. */
const protocols: ReadonlyMap<string, Protocol> = new Map<string, Protocol>([
  ['kubernetes.io/h2c', { http2: true }],
  ['kubernetes.io/ws', {}],
  ['kubernetes.io/wss', { secure: true }],
  ['https', { secure: true }],
  ['http2', { http2: true }],
  ['h2c', { http2: true }],
  ['grpc', { http2: true }],
]);

function protocolOf({ appProtocol }: ServicePort, spoken: Spoken): Protocol | Problem {
  const known = appProtocol === undefined ? undefined : protocols.get(appProtocol.toLowerCase());
  const webSocket = appProtocol === 'kubernetes.io/ws' || appProtocol === 'kubernetes.io/wss';
  if (
    (known === undefined && appProtocol?.startsWith('kubernetes.io/') === true) ||
    (webSocket && spoken === 'grpc')
  )
    return problem('UnsupportedProtocol', `appProtocol ${appProtocol} cannot be used here`);
  return { ...known, ...(spoken === 'grpc' ? { http2: true } : {}) };
}

const http2Of = ({ http2 }: Protocol): Pick<Target, 'http2'> => (http2 === undefined ? {} : { http2 });

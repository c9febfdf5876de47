import type { KubeObject } from '../../../src/controller/api/object.ts';
import type { Identity } from '../../../src/proxy/certificates.testing.ts';
import type { Shape } from './shape.ts';

export const gatewayClassName = 'scale';
export const namespace = 'scale';
const gatewayGroup = 'gateway.networking.k8s.io';
const gatewayApi = `${gatewayGroup}/v1`;
const ownGroup = 'portcullis.dev';
const ownApi = `${ownGroup}/v1alpha1`;

export const gatewayName = (index: number): string => `gateway-${String(index)}`;
const serviceName = (index: number): string => `app-${String(index)}`;
const routeName = (index: number): string => `route-${String(index)}`;
const mcpName = (index: number): string => `mcp-${String(index)}`;
const hostOf = (gateway: number, listener: number): string =>
  `l${String(listener)}.g${String(gateway)}.example.test`;

export const gatewayClass: KubeObject = {
  apiVersion: gatewayApi,
  kind: 'GatewayClass',
  metadata: { name: gatewayClassName },
  spec: { controllerName: 'portcullis.dev/gateway' },
};

const secretName = (gateway: number): string => `certificate-${String(gateway)}`;

const isSecure = (listener: number): boolean => listener % 2 === 1;

export const secret = (gateway: number, { cert, key }: Identity): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: secretName(gateway), namespace },
  type: 'kubernetes.io/tls',
  data: { 'tls.crt': base64(cert), 'tls.key': base64(key) },
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Half of its listeners have a certificate. */
export const gateway = (
  index: number,
  { listenersEach }: Shape,
  ports: readonly [number, number],
): KubeObject => ({
  apiVersion: gatewayApi,
  kind: 'Gateway',
  metadata: { name: gatewayName(index), namespace },
  spec: {
    gatewayClassName,
    listeners: Array.from({ length: listenersEach }, (_, listener) => ({
      name: `l${String(listener)}`,
      hostname: hostOf(index, listener),
      ...(isSecure(listener)
        ? {
            port: ports[1],
            protocol: 'HTTPS',
            tls: { certificateRefs: [{ name: secretName(index) }] },
          }
        : { port: ports[0], protocol: 'HTTP' }),
    })),
  },
});

/** Two rules, and matches of three kinds, as an app would have them; some have another one for MCP. */
export const route = (index: number, shape: Shape): KubeObject => {
  const parent = Math.floor(index / shape.routesEach);
  const listener = index % shape.listenersEach;
  const backend = (at: number): object => ({ name: serviceName(at % shape.services), port: 8000 });
  return {
    apiVersion: gatewayApi,
    kind: 'HTTPRoute',
    metadata: { name: routeName(index), namespace },
    spec: {
      parentRefs: [{ name: gatewayName(parent) }],
      hostnames: [hostOf(parent, listener)],
      rules: [
        ...mcpRules(index, shape),
        {
          matches: [
            { path: { type: 'PathPrefix', value: `/app-${String(index)}` }, method: 'GET' },
            {
              path: { type: 'PathPrefix', value: `/app-${String(index)}` },
              headers: [{ name: 'x-team', value: 'blue' }],
            },
          ],
          filters: [
            { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-a', value: 'b' }] } },
          ],
          backendRefs: [backend(index), backend(index + 1)],
        },
        {
          matches: [{ path: { type: 'Exact', value: `/exact-${String(index)}` } }],
          backendRefs: [backend(index)],
        },
      ],
    },
  };
};

/** The McpBackends are spread evenly over the routes. */
function mcpRules(route: number, { gateways, routesEach, mcpBackends }: Shape): readonly object[] {
  const each = Math.floor((gateways * routesEach) / mcpBackends);
  if (route % each !== 0) return [];
  return [
    {
      matches: [{ path: { type: 'Exact', value: `/mcp-${String(route)}` } }],
      backendRefs: [{ group: ownGroup, kind: 'McpBackend', name: mcpName(route / each) }],
    },
  ];
}

const mcpObject = (name: string, service: string): KubeObject => ({
  apiVersion: ownApi,
  kind: 'McpBackend',
  metadata: { name, namespace },
  spec: { targets: [{ name: 'tools', service: { name: service, port: 8000 } }] },
});

/** @param turn another Service each time */
export const mcpBackend = (index: number, { services }: Shape, turn = 0): KubeObject =>
  mcpObject(mcpName(index), serviceName((index + turn) % services));

interface PolicyTarget {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

const policyObject = (name: string, target: PolicyTarget, policies: object): KubeObject => ({
  apiVersion: ownApi,
  kind: 'GatewayPolicy',
  metadata: { name, namespace },
  spec: { targetRefs: [target], policies },
});

const onRoute = (name: string): PolicyTarget => ({ group: gatewayGroup, kind: 'HTTPRoute', name });

/** A GatewayPolicy. Six of ten are for a route, two for a Service, one for an McpBackend and one for a Gateway. */
export function policy(index: number, shape: Shape, turn = 0): KubeObject {
  const name = `policy-${String(index)}`;
  const [ten, one] = [Math.floor(index / 10), index % 10];
  const make = (target: PolicyTarget, policies: object): KubeObject => policyObject(name, target, policies);
  const tag = `${name}.${String(turn)}`;
  if (one < 6)
    return make(onRoute(routeName((index * 10) % (shape.gateways * shape.routesEach))), {
      timeout: { requestTimeout: '30s' },
      requestHeaderModifier: { set: { 'x-policy': tag } },
    });
  if (one < 8)
    return make(
      { group: '', kind: 'Service', name: serviceName((index * 4) % shape.services) },
      { connections: { maxConnections: 100 + turn }, tcp: { connectTimeout: '2s' } },
    );
  if (one === 8)
    return make(
      { group: ownGroup, kind: 'McpBackend', name: mcpName(ten % shape.mcpBackends) },
      { mcpAuthorization: { rules: [{ allow: `mcp.tool.name.startsWith("${tag}")` }] } },
    );
  return make(
    { group: gatewayGroup, kind: 'Gateway', name: gatewayName(ten % shape.gateways) },
    { responseHeaderModifier: { set: { 'x-gateway-policy': tag } } },
  );
}

export const service = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  // The controller is the only reader of this Service.
  spec: { clusterIP: 'None', ports: [{ name: 'http', port: 8000 }] },
});

export const appService = (index: number): KubeObject => service(serviceName(index));

const slice = (name: string, port: number, addresses: readonly string[]): KubeObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${name}-1`, namespace, labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port, protocol: 'TCP' }],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
});

/** @param turn other addresses each time */
export const appSlice = (index: number, { endpointsEach }: Shape, turn = 0): KubeObject =>
  slice(
    serviceName(index),
    8000,
    Array.from({ length: endpointsEach }, (_, nth) => {
      const number = index * endpointsEach + nth;
      return `198.18.${String((number >> 8) & 127)}.${String(number & 255)}`;
    }).map((address) => (turn % 2 === 0 ? address : address.replace('198.18.', '198.19.'))),
  );

/** The app that requests really go to. */
export const realApp = 'real';
export const realHost = hostOf(0, 0);
export const realSlice = (app: string, address: string, port: number): KubeObject =>
  slice(app, port, [address]);

/** A route of the Gateway that is really served. */
export const realRoute = (version: string, app: string): KubeObject => ({
  apiVersion: gatewayApi,
  kind: 'HTTPRoute',
  metadata: { name: 'real', namespace },
  spec: {
    parentRefs: [{ name: gatewayName(0) }],
    hostnames: [realHost],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/real' } }],
        filters: [
          {
            type: 'ResponseHeaderModifier',
            responseHeaderModifier: { set: [{ name: 'x-version', value: version }] },
          },
        ],
        backendRefs: [{ name: app, port: 8000 }],
      },
    ],
  },
});

/** A policy of that route: the app sends the header back. */
export const realPolicy = (version: string): KubeObject =>
  policyObject('real', onRoute('real'), { requestHeaderModifier: { set: { 'x-policy': version } } });

/** The MCP server that sessions really go to. */
export const realTools = 'tools';
export const toolsPath = '/tools';
export const realMcpBackend = (server: string): KubeObject => mcpObject('real', server);

export const toolsRoute: KubeObject = {
  apiVersion: gatewayApi,
  kind: 'HTTPRoute',
  metadata: { name: 'tools', namespace },
  spec: {
    parentRefs: [{ name: gatewayName(0) }],
    hostnames: [realHost],
    rules: [
      {
        matches: [{ path: { type: 'Exact', value: toolsPath } }],
        backendRefs: [{ group: ownGroup, kind: 'McpBackend', name: 'real' }],
      },
    ],
  },
};

import type { KubeObject } from '../../../src/controller/api/object.ts';
import type { Identity } from '../../../src/proxy/certificates.testing.ts';
import type { Shape } from './shape.ts';

export const gatewayClassName = 'scale';
export const namespace = 'scale';
const gatewayApi = 'gateway.networking.k8s.io/v1';

export const gatewayName = (index: number): string => `gateway-${String(index)}`;
const serviceName = (index: number): string => `app-${String(index)}`;
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

/** Two rules, and matches of three kinds, as an app would have them. */
export const route = (index: number, shape: Shape): KubeObject => {
  const parent = Math.floor(index / shape.routesEach);
  const listener = index % shape.listenersEach;
  const backend = (at: number): object => ({ name: serviceName(at % shape.services), port: 8000 });
  return {
    apiVersion: gatewayApi,
    kind: 'HTTPRoute',
    metadata: { name: `route-${String(index)}`, namespace },
    spec: {
      parentRefs: [{ name: gatewayName(parent) }],
      hostnames: [hostOf(parent, listener)],
      rules: [
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

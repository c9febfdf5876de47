/** Services of a test cluster whose servers run on this machine. */
import { networkInterfaces } from 'node:os';

/** An address of this machine: EndpointSlices take none of loopback, and policies of tenants call none. */
export const [here] = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ family, internal }) => family === 'IPv4' && !internal)
  .map(({ address }) => address);

export const noAddress = here === undefined ? 'this machine has no address but those of loopback' : undefined;

const object = (apiVersion: string, kind: string, metadata: object, rest: object): string =>
  JSON.stringify({ apiVersion, kind, metadata: { namespace: 'default', ...metadata }, ...rest });

/** A Service without pods, and the address behind it. */
export const service = (name: string, port: number, labels = {}): readonly string[] => [
  object('v1', 'Service', { name, labels }, { spec: { ports: [{ port: 80 }] } }),
  object(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    {
      addressType: 'IPv4',
      ports: [{ port, protocol: 'TCP' }],
      endpoints: [{ addresses: [here], conditions: { ready: true } }],
    },
  ),
];

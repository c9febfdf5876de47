import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { requestedAddresses } from './addresses.ts';
import { selectorOf } from './names.ts';
import type { ProxyRequest } from './request.ts';

/** Seconds; longer than a session lives without a word. */
const sameProxyFor = 10_800;

/** The way to the proxies of a Gateway. */
export function serviceOf(
  { gateway, ports, sessions, parameters }: ProxyRequest,
  metadata: ObjectMeta,
): KubeObject {
  const { type = 'LoadBalancer', annotations, ...rest } = parameters.service ?? {};
  const address = requestedAddresses(gateway).find((one) => one.type === 'IPAddress')?.value;
  const field = type === 'LoadBalancer' ? 'loadBalancerIP' : 'clusterIP';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, annotations: { ...annotations, ...metadata.annotations } },
    spec: {
      type,
      selector: selectorOf(gateway.metadata.name),
      ipFamilyPolicy: 'PreferDualStack',
      ...rest,
      // The field holds a single address; further ones go to the load balancer by annotations.
      ...(address === undefined ? {} : { [field]: address }),
      // The time is said, though it is the usual one: what only the server has said stays when the rest goes.
      ...(sessions
        ? {
            sessionAffinity: 'ClientIP',
            sessionAffinityConfig: { clientIP: { timeoutSeconds: sameProxyFor } },
          }
        : {}),
      ports: ports.map(({ port, protocol }) => ({
        name: `${protocol.toLowerCase()}-${String(port)}`,
        port,
        targetPort: port,
        protocol,
      })),
    },
  };
}

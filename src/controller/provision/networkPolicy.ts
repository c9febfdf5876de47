import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { operatorPorts } from '../operatorPorts.ts';
import { selectorOf } from './names.ts';
import type { ProxyRequest } from './request.ts';

/** Namespaces that may read metrics unless the parameters name others: those with the label `metrics: enabled`. */
const metricsFrom = [{ namespaceSelector: { matchLabels: { metrics: 'enabled' } } }];

/** Opens the ports of listeners to any client, the metrics to scrapers, and the probes to nodes. */
export function networkPolicyOf(
  { gateway, ports, parameters }: ProxyRequest,
  metadata: ObjectMeta,
): KubeObject | undefined {
  const { enabled = true, metricsFrom: peers = metricsFrom } = parameters.networkPolicy ?? {};
  if (!enabled) return undefined;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: {
      podSelector: { matchLabels: selectorOf(gateway.metadata.name) },
      policyTypes: ['Ingress'],
      ingress: [
        { ports: ports.map(({ port, protocol }) => ({ port, protocol })) },
        // A list without peers would let every address in.
        ...(peers.length === 0
          ? []
          : [{ from: peers, ports: [{ port: operatorPorts.stats, protocol: 'TCP' }] }]),
        // Probes come from the node, whose address nobody knows here.
        { ports: [{ port: operatorPorts.readiness, protocol: 'TCP' }] },
      ],
    },
  };
}

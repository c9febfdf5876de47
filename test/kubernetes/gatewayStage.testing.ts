/** A Gateway `gw` of the namespace `default`, whose proxy runs programs in its own place. */
import { readFileSync } from 'node:fs';
import type { Cluster } from '../support/kubeCluster.ts';

export const gatewayApi = 'gateway.networking.k8s.io/v1';
export const ours = 'portcullis.dev/v1alpha1';

export const crd = (plural: string): string =>
  readFileSync(new URL(`../../deploy/chart/crds/portcullis.dev_${plural}.yaml`, import.meta.url), 'utf8');

export const object = (apiVersion: string, kind: string, name: string, rest: object = {}): string =>
  JSON.stringify({
    apiVersion,
    kind,
    metadata: { name, ...(kind === 'GatewayClass' ? {} : { namespace: 'default' }) },
    ...rest,
  });

/**
 * Installs all CRDs, and applies the Gateway.
 * @param more objects beside it
 */
export async function applyGateway(cluster: Cluster, port: number, more: readonly string[]): Promise<void> {
  await cluster.installGatewayApi();
  for (const plural of ['portcullisparameters', 'mcpbackends', 'gatewaypolicies'])
    await cluster.apply(crd(plural));
  await cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  await cluster.apply(
    [
      object(gatewayApi, 'GatewayClass', 'ours', { spec: { controllerName: 'portcullis.dev/gateway' } }),
      object('v1', 'ServiceAccount', 'gw'),
      object(ours, 'PortcullisParameters', 'programs', { spec: { mcp: { stdio: 'Same' } } }),
      object(gatewayApi, 'Gateway', 'gw', {
        spec: {
          gatewayClassName: 'ours',
          listeners: [{ name: 'http', port, protocol: 'HTTP' }],
          infrastructure: {
            parametersRef: { group: 'portcullis.dev', kind: 'PortcullisParameters', name: 'programs' },
          },
        },
      }),
      ...more,
    ].join('\n---\n'),
  );
}

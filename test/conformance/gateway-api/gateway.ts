/**
 * Controller and proxies in one process, for the network of a cluster of the test bed: `gateway.ts KUBECONFIG`, until it
 * is ended. Each Gateway has an address of its own of those that the node keeps for load balancers.
 */
import { kubeAccess } from '../../../src/controller/api/access.ts';
import { KubeApi } from '../../../src/controller/api/api.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { EndpointTable, Translation } from '../../../src/controller/translate/index.ts';
import { defaults } from '../../../src/model/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { AddressPool } from './addressPool.ts';
import { LocalProxy } from './localProxy.ts';

const [file = ''] = process.argv.slice(2);
const log = createLogger({ level: 'info', format: 'text' });
const metrics = createMetrics({ process: false });
const api = new KubeApi({ access: await kubeAccess({ file }), metrics, userAgent: 'portcullis-conformance' });
const addresses = new AddressPool();
const proxies = new Map<string, LocalProxy>();

function publish({ models, endpoints }: Translation): void {
  for (const [key, { model }] of models) {
    const address = addresses.of(key);
    if (address === undefined) continue;
    let proxy = proxies.get(key);
    if (proxy === undefined || proxy.address !== address) {
      void proxy?.close();
      proxy = new LocalProxy(key, address, () => controller.changed());
      proxies.set(key, proxy);
    }
    proxy.use(model, endpoints);
  }
  for (const [key, proxy] of proxies) {
    if (models.has(key)) continue;
    proxies.delete(key);
    void proxy.close();
  }
}

function publishAddresses(endpoints: EndpointTable): void {
  for (const proxy of proxies.values()) proxy.useAddresses(endpoints);
}

const controller = new Controller({
  api,
  namespace: 'default',
  identity: 'conformance',
  process: defaults,
  infrastructure: (gateways) => {
    addresses.give(gateways);
    return new Map(
      gateways.map(({ metadata }) => {
        const key = `${metadata.namespace ?? ''}/${metadata.name}`;
        const address = addresses.of(key);
        const unusable = addresses.unusable(key);
        const serves = proxies.get(key)?.serves === true;
        return [
          key,
          {
            addresses: address === undefined ? [] : [{ type: 'IPAddress', value: address }],
            ...(unusable.length === 0 ? {} : { unusable }),
            ...(serves ? {} : { pending: 'the proxy is being set up' }),
          },
        ];
      }),
    );
  },
  onTranslation: publish,
  onAddresses: publishAddresses,
  log,
  metrics,
});

process.once('SIGTERM', () => {
  void Promise.all([controller.close(), ...[...proxies.values()].map((proxy) => proxy.close())]).then(() => {
    api.close();
    log.close();
  });
});

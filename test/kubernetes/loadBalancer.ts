/**
 * A load balancer for the test bed: gives Services of type LoadBalancer an address of 198.19.0.10 to 60, which the node
 * has; kube-proxy does the rest. `node test/kubernetes/loadBalancer.ts KUBECONFIG`, until it is ended.
 */
import { createLogger, createMetrics, type Logger } from '../../src/telemetry/index.ts';
import { kubeAccess } from '../../src/controller/api/access.ts';
import { KubeApi } from '../../src/controller/api/api.ts';
import { keyOfObject, type KubeObject } from '../../src/controller/api/object.ts';
import { pathOf } from '../../src/controller/api/resource.ts';
import { services } from '../../src/controller/serve/serviceAddress.ts';
import { Informer } from '../../src/controller/watch/informer.ts';
import { trimMetadata } from '../../src/controller/watch/trim.ts';
import { WatchMetrics } from '../../src/controller/watch/watchMetrics.ts';
import { WorkQueue } from '../../src/controller/work/workQueue.ts';

const pool = Array.from({ length: 51 }, (_, index) => `198.19.0.${String(10 + index)}`);

interface Service extends KubeObject {
  readonly spec: { readonly type?: string; readonly loadBalancerIP?: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

const given = ({ status }: Service): string | undefined => status?.loadBalancer?.ingress?.[0]?.ip;

/** The address for a Service: the requested one, its present one, or the first free one. */
function addressFor(service: Service, all: Iterable<Service>): string | undefined {
  if (service.spec.type !== 'LoadBalancer') return undefined;
  const taken = new Set([...all].filter((one) => one !== service).map(given));
  const free = pool.filter((address) => !taken.has(address));
  const { loadBalancerIP } = service.spec;
  if (loadBalancerIP !== undefined) return free.find((address) => address === loadBalancerIP);
  return free.find((address) => address === given(service)) ?? free[0];
}

async function balance(file: string, log: Logger): Promise<void> {
  const metrics = createMetrics({ process: false });
  const api = new KubeApi({ access: await kubeAccess({ file }), metrics, userAgent: 'test-load-balancer' });
  const informer = new Informer<Service>({
    api,
    resource: services,
    trim: (object) => trimMetadata(object) as Service,
    log,
    metrics: new WatchMetrics(metrics),
  });
  const queue = new WorkQueue({
    name: 'services',
    // Requests run one after the other: two must not take the same address.
    maxInFlight: 1,
    handle: async (key) => {
      const [namespace, name = ''] = key.split('/');
      const service = informer.objects.get(namespace, name);
      if (service === undefined) return;
      const address = addressFor(service, informer.objects.list());
      if (address === given(service)) return;
      await api.request({
        method: 'PATCH',
        path: pathOf(services, { namespace, name, subresource: 'status' }),
        contentType: 'application/merge-patch+json',
        body: { status: { loadBalancer: { ingress: address === undefined ? null : [{ ip: address }] } } },
      });
      log.info('address', { service: key, address });
    },
    log,
    metrics,
  });
  informer.objects.onChange((changes) => {
    // A deleted Service may leave an address that another waits for.
    const gone = changes.some(({ type }) => type === 'deleted');
    for (const object of gone ? informer.objects.list() : changes.map((change) => change.object))
      queue.add(keyOfObject(object));
  });
}

await balance(process.argv[2] ?? '', createLogger({ level: 'info', format: 'text' }));

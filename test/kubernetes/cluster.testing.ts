import { after, before } from 'node:test';
import { memoryLog, type Line } from '../../src/auth/log.testing.ts';
import { kubeAccess } from '../../src/controller/api/access.ts';
import { KubeApi } from '../../src/controller/api/api.ts';
import type { KubeObject } from '../../src/controller/api/object.ts';
import type { Resource } from '../../src/controller/api/resource.ts';
import { Informer, type InformerOptions } from '../../src/controller/watch/informer.ts';
import type { WatchPace } from '../../src/controller/watch/listWatch.ts';
import { trimMetadata } from '../../src/controller/watch/trim.ts';
import { WatchMetrics } from '../../src/controller/watch/watchMetrics.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/index.ts';
import { findBed, startCluster, type Cluster, type KubeconfigOptions } from '../support/kubeCluster.ts';

const bed = findBed();

/** For `describe`: why these tests cannot run here, where they cannot. */
export const needsCluster = { skip: 'missing' in bed && bed.missing } as const;

export interface Stage {
  readonly cluster: Cluster;
  /** Talks to the cluster until the suite ends. */
  connect(how?: KubeconfigOptions): Promise<Connection>;
}

export interface Connection {
  readonly api: KubeApi;
  readonly metrics: Metrics;
}

/** A cluster for the tests of a `describe`. */
export function clusterForSuite(options: { readonly controllers?: boolean } = {}): Stage {
  let cluster: Cluster | undefined;
  const apis: KubeApi[] = [];
  before(async () => {
    cluster = await startCluster(options);
  });
  after(async () => {
    for (const api of apis) api.close();
    await cluster?.stop();
  });
  const running = (): Cluster => {
    if (cluster === undefined) throw new Error('the cluster is not started');
    return cluster;
  };
  return {
    get cluster() {
      return running();
    },
    connect: async (how = {}) => {
      const file = running().kubeconfigFor(how);
      const metrics = createMetrics({ process: false });
      const api = new KubeApi({ access: await kubeAccess({ file }), metrics, userAgent: 'portcullis-test' });
      apis.push(api);
      return { api, metrics };
    },
  };
}

export const configMaps: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};

/** Recovers faster than in real life. */
export const quickPace: WatchPace = {
  backoff: { firstMs: 20, maxMs: 200 },
  watchMs: 60_000,
  silentMs: 60_000,
  absentMs: 100,
};

export interface Followed {
  readonly informer: Informer<KubeObject>;
  /** `added name`, `updated name`, `deleted name`. */
  readonly changes: string[];
  readonly lines: Line[];
}

/** Follows a kind; the caller closes it. */
export function follow(
  { api, metrics }: Connection,
  resource: Resource,
  options: Partial<InformerOptions<KubeObject>> = {},
): Followed {
  const { log, lines } = memoryLog();
  const informer = new Informer({
    api,
    resource,
    trim: trimMetadata,
    log,
    metrics: new WatchMetrics(metrics),
    pace: quickPace,
    ...options,
  });
  const changes: string[] = [];
  informer.objects.onChange((batch) => {
    for (const { type, object } of batch) changes.push(`${type} ${object.metadata.name}`);
  });
  return { informer, changes, lines };
}

export const configMap = (name: string, data = '1', namespace = 'default'): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { data } });

export const gatewayClass = (name: string, controllerName = 'portcullis.dev/gateway'): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name },
    spec: { controllerName },
  });

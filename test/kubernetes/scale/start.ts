import { setTimeout as pause } from 'node:timers/promises';
import type { KubeApi } from '../../../src/controller/api/api.ts';
import { listen, type Credentials } from './listening.ts';
import { namespace } from './objects.ts';
import type { ControllerProgram } from './program.ts';
import { totals, type Shape } from './shape.ts';

/** A start of the controller; all times in milliseconds from the start of the process. */
export interface Start {
  /** Everything is known and translated, and proxies are let in. */
  readonly ready: number;
  /** Every Gateway's model was sent to a proxy of its own that had nothing before. */
  readonly served: number;
  /** The last write of a status or of an object of a proxy; that of `ready` where there was none. */
  readonly written: number;
  readonly statusWrites: number;
  readonly provisionWrites: number;
  readonly requests: number;
  readonly lists: number;
  readonly translations: number;
  /** The processor time that it has used, in milliseconds. */
  readonly cpuMs: number;
}

/** The time without a write after which everything counts as written. */
const quietMs = 2_000;

/** @param credentials of proxies; asked when the controller is ready, since the first one makes what they trust */
export async function measureStart(
  controller: ControllerProgram,
  credentials: () => Promise<Credentials>,
): Promise<Start> {
  const now = (): number => performance.now() - controller.startedAt;
  const ready = await controller.ready();
  let served = Number.NaN;
  const serve = async (): Promise<void> => {
    const listeners = listen(await credentials());
    await listeners.complete;
    served = now();
    await listeners.close();
  };
  const serving = serve();
  // The leader writes the objects.
  while ((await controller.figures()).sum('kube_leader') !== 1) await pause(20);
  let written = now();
  let before = -1;
  for (;;) {
    const figures = await controller.figures();
    const writes = figures.sum('kube_status_writes_total') + figures.sum('kube_provision_writes_total');
    if (writes !== before || figures.sum('kube_queue_depth') > 0) {
      if (before >= 0) written = now();
      before = writes;
    } else if (now() - written > quietMs) {
      await serving;
      return {
        ready,
        served,
        written,
        statusWrites: figures.sum('kube_status_writes_total'),
        provisionWrites: figures.sum('kube_provision_writes_total'),
        requests: figures.sum('kube_api_requests_total'),
        lists: figures.sum('kube_lists_total'),
        translations: figures.sum('kube_translations_total', 'what="objects"'),
        cpuMs: controller.cpuMs,
      };
    }
    // To answer costs the controller some milliseconds, each time.
    await pause(250);
  }
}

interface AnyList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly generation: number };
    readonly status?: {
      readonly listeners?: readonly { readonly attachedRoutes: number }[];
      readonly parents?: readonly Conditioned[];
      readonly ancestors?: readonly Conditioned[];
    } & Conditioned;
  }[];
}

interface Conditioned {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly observedGeneration?: number;
  }[];
}

/** Waits until the status of each object is as it ought to be. @throws Error about one that is not, after half a minute */
export async function statusesWritten(api: KubeApi, shape: Shape): Promise<void> {
  const end = performance.now() + 30_000;
  for (;;)
    try {
      await checkStatuses(api, shape);
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(250);
    }
}

/** @throws Error where the status of any object is not as it ought to be */
async function checkStatuses(api: KubeApi, shape: Shape): Promise<void> {
  const list = async (
    plural: string,
    version = 'gateway.networking.k8s.io/v1',
  ): Promise<AnyList['items']> => {
    const path = `/apis/${version}/namespaces/${namespace}/${plural}`;
    return ((await api.request({ path, timeoutMs: 60_000 })) as AnyList).items;
  };
  const holds = (one: Conditioned | undefined, type: string, generation: number): boolean =>
    one?.conditions?.some(
      (condition) =>
        condition.type === type && condition.status === 'True' && condition.observedGeneration === generation,
    ) === true;
  let attached = 0;
  for (const { metadata, status } of await list('gateways')) {
    if (!holds(status, 'Accepted', metadata.generation))
      throw new Error(`Gateway ${metadata.name}: ${JSON.stringify(status)}`);
    for (const { attachedRoutes } of status?.listeners ?? []) attached += attachedRoutes;
  }
  const routes = (await list('httproutes')).filter(({ metadata }) => metadata.name.startsWith('route-'));
  for (const { metadata, status } of routes)
    for (const type of ['Accepted', 'ResolvedRefs'])
      if (!holds(status?.parents?.[0], type, metadata.generation))
        throw new Error(`HTTPRoute ${metadata.name}: ${JSON.stringify(status)}`);
  for (const plural of ['gatewaypolicies', 'mcpbackends'])
    for (const { metadata, status } of await list(plural, 'portcullis.dev/v1alpha1'))
      if (!holds(status?.ancestors?.[0], 'Accepted', metadata.generation))
        throw new Error(`${plural} ${metadata.name}: ${JSON.stringify(status)}`);
  const { routes: wanted } = totals(shape);
  // Beside them are the two with traffic.
  if (routes.length !== wanted || attached !== wanted + 2)
    throw new Error(`${String(routes.length)} routes, ${String(attached)} attached`);
}

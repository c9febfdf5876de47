import { setTimeout as pause } from 'node:timers/promises';
import type { KubeApi } from '../../../src/controller/api/api.ts';
import { apply } from './api.ts';
import { appSlice, namespace, realApp, realRoute, realSlice, route } from './objects.ts';
import type { Shape } from './shape.ts';
import type { App, Client } from './traffic.ts';

/** Milliseconds from the moment a change is sent to the API server until an answer obeys it. */
export interface ChangeTimes {
  readonly name: string;
  readonly toTraffic: readonly number[];
  /** Until the status says so; where that was looked for. */
  readonly toStatus: readonly number[];
}

export interface Scene {
  readonly api: KubeApi;
  readonly client: Client;
  readonly address: string;
  readonly apps: readonly [App, App];
  readonly shape: Shape;
}

/** So that changes are not in step with anything. */
const rest = async (): Promise<void> => await pause(50 + Math.random() * 300);

let version = 0;

/** A filter of the route is another one. */
export async function filterChanges(
  name: string,
  { api, client }: Scene,
  count: number,
): Promise<ChangeTimes> {
  const toTraffic: number[] = [];
  const toStatus: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    const wanted = `v${String(++version)}`;
    const begun = performance.now();
    await apply(api, realRoute(wanted, realApp));
    await client.until(`the route sets ${wanted}`, (answer) => answer.version === wanted);
    toTraffic.push(performance.now() - begun);
    await statusSeen(api);
    toStatus.push(performance.now() - begun);
    await rest();
  }
  return { name, toTraffic, toStatus };
}

async function statusSeen(api: KubeApi): Promise<void> {
  const end = performance.now() + 60_000;
  for (;;) {
    const { metadata, status } = (await api.request({
      path: `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes/real`,
    })) as {
      readonly metadata: { readonly generation: number };
      readonly status?: {
        readonly parents?: readonly {
          readonly conditions: readonly { readonly observedGeneration: number }[];
        }[];
      };
    };
    const [parent] = status?.parents ?? [];
    if (
      parent?.conditions.every(({ observedGeneration }) => observedGeneration === metadata.generation) ===
      true
    )
      return;
    if (performance.now() > end) throw new Error('the status of the route was never written');
    await pause(10);
  }
}

/** The route goes to the other of two apps. */
export async function backendChanges({ api, client }: Scene, count: number): Promise<ChangeTimes> {
  const toTraffic: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    const app = turn % 2 === 0 ? 'b' : 'a';
    const begun = performance.now();
    await apply(api, realRoute(`v${String(++version)}`, app === 'a' ? realApp : `${realApp}-b`));
    await client.until(`the route goes to ${app}`, (answer) => answer.app === app);
    toTraffic.push(performance.now() - begun);
    await rest();
  }
  return { name: 'backend of a route', toTraffic, toStatus: [] };
}

/** The Service that the route goes to has another pod. */
export async function endpointChanges(
  { api, client, address, apps }: Scene,
  count: number,
): Promise<ChangeTimes> {
  await apply(api, realRoute(`v${String(++version)}`, realApp));
  const toTraffic: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    const other = (turn + 1) % 2;
    const app = other === 0 ? 'a' : 'b';
    const begun = performance.now();
    await apply(api, realSlice(realApp, address, apps[other as 0 | 1].port));
    await client.until(`requests go to ${app}`, (answer) => answer.app === app);
    toTraffic.push(performance.now() - begun);
    await rest();
  }
  await apply(api, realSlice(realApp, address, apps[0].port));
  return { name: 'addresses of a Service', toTraffic, toStatus: [] };
}

/** Twenty EndpointSlices and two routes of other Gateways change each second, until it is ended. */
export function churn({ api, shape }: Scene): { end(): Promise<void> } {
  let going = true;
  const run = async (): Promise<void> => {
    for (let turn = 1; going; turn++) {
      const index = turn % shape.services;
      await apply(api, appSlice(index, shape, 1 + Math.floor(turn / shape.services)));
      if (turn % 10 === 0) {
        const at = shape.routesEach + (turn % (shape.routesEach * (shape.gateways - 1)));
        const changed = route(at, shape);
        const { rules } = changed['spec'] as { readonly rules: readonly object[] };
        await apply(api, {
          ...changed,
          spec: { ...(changed['spec'] as object), rules: rules.slice(0, 1 + (Math.floor(turn / 10) % 2)) },
        });
      }
      await pause(50);
    }
  };
  const running = run();
  return {
    end: async () => {
      going = false;
      await running;
    },
  };
}

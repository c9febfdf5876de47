import { setTimeout as pause } from 'node:timers/promises';
import type { KubeApi } from '../../../src/controller/api/api.ts';
import { apply } from './api.ts';
import {
  appSlice,
  mcpBackend,
  namespace,
  policy,
  realApp,
  realMcpBackend,
  realPolicy,
  realRoute,
  realSlice,
  realTools,
  route,
} from './objects.ts';
import type { Shape } from './shape.ts';
import type { App, Client } from './traffic.ts';
import type { ToolsClient } from './tools.ts';

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
  readonly tools: ToolsClient;
  readonly address: string;
  readonly apps: readonly [App, App];
  readonly shape: Shape;
}

/** So that changes are not in step with anything. */
const rest = async (): Promise<void> => await pause(50 + Math.random() * 300);

let version = 0;

/** A change, from the object that is written to the answer and the status that obey it. */
interface Change {
  readonly write: () => Promise<unknown>;
  readonly untilTraffic: () => Promise<unknown>;
  /** Absent where the object has no status. */
  readonly untilStatus?: () => Promise<void>;
}

/** Makes changes one after the other, and measures each. @param change the change of a turn, counted from 0 */
async function changes(name: string, count: number, change: (turn: number) => Change): Promise<ChangeTimes> {
  const toTraffic: number[] = [];
  const toStatus: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    const { write, untilTraffic, untilStatus } = change(turn);
    const begun = performance.now();
    await write();
    await untilTraffic();
    toTraffic.push(performance.now() - begun);
    if (untilStatus !== undefined) {
      await untilStatus();
      toStatus.push(performance.now() - begun);
    }
    await rest();
  }
  return { name, toTraffic, toStatus };
}

/** A filter of the route is another one. */
export const filterChanges = async (
  name: string,
  { api, client }: Scene,
  count: number,
): Promise<ChangeTimes> =>
  await changes(name, count, () => {
    const wanted = `v${String(++version)}`;
    return {
      write: () => apply(api, realRoute(wanted, realApp)),
      untilTraffic: () => client.until(`the route sets ${wanted}`, (answer) => answer.version === wanted),
      untilStatus: () => statusSeen(api, 'gateway.networking.k8s.io/v1', 'httproutes'),
    };
  });

interface Entry {
  readonly conditions: readonly { readonly observedGeneration: number }[];
}

/** Waits until the status of the object `real` is about what it says now. */
async function statusSeen(api: KubeApi, version: string, plural: string): Promise<void> {
  const end = performance.now() + 60_000;
  for (;;) {
    const { metadata, status } = (await api.request({
      path: `/apis/${version}/namespaces/${namespace}/${plural}/real`,
    })) as {
      readonly metadata: { readonly generation: number };
      readonly status?: { readonly parents?: readonly Entry[]; readonly ancestors?: readonly Entry[] };
    };
    const [entry] = status?.parents ?? status?.ancestors ?? [];
    if (
      entry?.conditions.every(({ observedGeneration }) => observedGeneration === metadata.generation) === true
    )
      return;
    if (performance.now() > end) throw new Error(`the status of ${plural} real was never written`);
    await pause(10);
  }
}

const ownApi = 'portcullis.dev/v1alpha1';

/** A GatewayPolicy of the route sets another header. */
export const policyChanges = async (
  name: string,
  { api, client }: Scene,
  count: number,
): Promise<ChangeTimes> =>
  await changes(name, count, () => {
    const wanted = `p${String(++version)}`;
    return {
      write: () => apply(api, realPolicy(wanted)),
      untilTraffic: () => client.until(`the policy sets ${wanted}`, (answer) => answer.policy === wanted),
      untilStatus: () => statusSeen(api, ownApi, 'gatewaypolicies'),
    };
  });

/** An McpBackend leads to the other of two MCP servers. */
export const mcpChanges = async ({ api, tools }: Scene, count: number): Promise<ChangeTimes> =>
  await changes('Service of an McpBackend', count, (turn) => {
    const server = turn % 2 === 0 ? `${realTools}-b` : realTools;
    return {
      write: () => apply(api, realMcpBackend(server)),
      untilTraffic: () => tools.until(server),
      untilStatus: () => statusSeen(api, ownApi, 'mcpbackends'),
    };
  });

/** The route goes to the other of two apps. */
export const backendChanges = async ({ api, client }: Scene, count: number): Promise<ChangeTimes> =>
  await changes('backend of a route', count, (turn) => {
    const app = turn % 2 === 0 ? 'b' : 'a';
    return {
      write: () => apply(api, realRoute(`v${String(++version)}`, app === 'a' ? realApp : `${realApp}-b`)),
      untilTraffic: () => client.until(`the route goes to ${app}`, (answer) => answer.app === app),
    };
  });

/** The Service that the route goes to has another pod. */
export async function endpointChanges(
  { api, client, address, apps }: Scene,
  count: number,
): Promise<ChangeTimes> {
  await apply(api, realRoute(`v${String(++version)}`, realApp));
  const times = await changes('addresses of a Service', count, (turn) => {
    const other = (turn + 1) % 2;
    const app = other === 0 ? 'a' : 'b';
    return {
      write: () => apply(api, realSlice(realApp, address, apps[other as 0 | 1].port)),
      untilTraffic: () => client.until(`requests go to ${app}`, (answer) => answer.app === app),
    };
  });
  await apply(api, realSlice(realApp, address, apps[0].port));
  return times;
}

/** The objects that `churn` changes each second. */
export const churned = '20 EndpointSlices, 2 other routes, a policy and an McpBackend';

/** Objects of other Gateways change, until it is ended. */
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
      if (turn % 20 === 5) await apply(api, policy(turn % shape.policies, shape, turn));
      if (turn % 20 === 15) await apply(api, mcpBackend(turn % shape.mcpBackends, shape, turn));
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

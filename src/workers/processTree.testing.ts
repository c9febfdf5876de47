import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { defaults, type Model, type PathMatch, type Route } from '../model/index.ts';
import { createLogger, createMetrics } from '../telemetry/index.ts';
import { MemoryDestination } from '../telemetry/memory.testing.ts';
import { ProcessTree } from './processTree.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };

const route = (name: string, path: PathMatch, body: string): Route => ({
  name,
  hostnames: [],
  matches: [{ path, headers: [], query: [] }],
  policies: [{ name: 'directResponse', settings: { status: 200, body, headers: {} }, place }],
  backends: [],
  place,
});

/** @param more routes besides the one for all paths: each answers at `/its number` alone, with its number added */
export const saying = (body: string, more = 0): Model => ({
  process: { ...defaults, accessLog: 'none' },
  binds: [
    {
      port: 0,
      address: '127.0.0.1',
      listeners: [
        {
          name: 'one',
          protocol: 'HTTP',
          policies: [],
          routes: [
            route('route', { kind: 'prefix', value: '/' }, body),
            ...Array.from({ length: more }, (_, i) =>
              route(`route${i}`, { kind: 'exact', value: `/${i}` }, `${body} ${i}`),
            ),
          ],
        },
      ],
    },
  ],
});

/** A tree of real processes, impatient with those that hang. */
export async function start(t: TestContext, hangMs: number) {
  const destination = new MemoryDestination();
  const log = createLogger({ level: 'info', format: 'text', destination });
  const tree = new ProcessTree({
    workers: 2,
    log,
    metrics: createMetrics({ process: false }),
    secrets: { variables: [], values: [] },
    pace: { checkMs: 50, hangMs },
  });
  t.after(async () => {
    await tree.close(0);
    log.close();
  });
  await tree.apply(saying('old'));
  const url = `http://127.0.0.1:${tree.ports[0]?.port ?? 0}`;
  const ask = async (path = '/'): Promise<string> =>
    (await fetch(url + path, { headers: { connection: 'close' } })).text();
  /** 0 would be this process and all its relatives. */
  const signal = async (worker: number, name: NodeJS.Signals): Promise<number> => {
    const { pid } = (await tree.view()).workers[worker - 1] ?? {};
    assert.ok(pid !== undefined);
    process.kill(pid, name);
    return pid;
  };
  return { tree, ask, signal, log: () => destination.text };
}

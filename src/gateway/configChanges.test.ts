import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from '../config/index.ts';
import type { Model } from '../model/index.ts';
import type { PlaneView } from '../workers/index.ts';
import { configChanges } from './configChanges.ts';

const noSessions: PlaneView['mcp'] = {
  sessions: [],
  children: 0,
  hidden: [],
  circuits: [],
  failedStarts: [],
};

function modelOf(text: string): Model {
  const result = loadText(text, { file: 'a.yaml', env: {} });
  return result.ok ? result.model : assert.fail(JSON.stringify(result.problems));
}

const withRoutes = (routes: string, more = ''): Model =>
  modelOf(`${more}
binds:
- port: 8080
  listeners:
  - name: l
    routes: ${routes}`);

const route = (name: string, port: number): string =>
  `{ name: ${name}, matches: [{ path: { exact: /${name} } }], backends: [{ host: 'a:${port}' }] }`;

const names = (ids: readonly string[]): readonly string[] => ids.map((id) => id.replace('8080/l/', ''));

test('routes are compared by their names, and the lines where they stand are no change', async () => {
  const before = withRoutes(`[${route('a', 1)}, ${route('b', 1)}, ${route('c', 1)}]`);
  const after = withRoutes(`[${route('a', 1)}, ${route('c', 2)}, ${route('d', 1)}]`, '# one more line\n');
  const { routes, needsRestart } = await configChanges(before, after, noSessions);
  assert.deepEqual(names(routes.added), ['d']);
  assert.deepEqual(names(routes.removed), ['b']);
  assert.deepEqual(names(routes.changed), ['c']);
  assert.equal(needsRestart, false);
});

test('a change of the listener changes all of its routes, and a setting of the start needs a restart', async () => {
  const routes = `[${route('a', 1)}, ${route('b', 1)}]`;
  const before = withRoutes(routes);
  const policies = `
    policies: { cors: { allowOrigins: ['*'] } }`;
  const changed = modelOf(`
config: { adminAddr: off }
binds:
- port: 8080
  listeners:
  - name: l
    routes: ${routes}${policies}`);
  const changes = await configChanges(before, changed, noSessions);
  assert.deepEqual(names(changes.routes.changed), ['a', 'b']);
  assert.equal(changes.needsRestart, true);
});

test('sessions end with their backend, and children with their target', async () => {
  const mcp = (...targets: readonly string[]): Model =>
    withRoutes(
      `[{ name: m, backends: [{ mcp: { targets: [${targets
        .map((name) => `{ name: ${name}, stdio: { cmd: ${name} } }`)
        .join(', ')}] } }] }]`,
    );
  const before = mcp('a', 'b');
  const target = (name: string, pid: number) => ({
    name,
    pid,
    state: 'ready' as const,
    restarts: 0,
    pending: 0,
    lastError: undefined,
  });
  const session = {
    label: 's',
    backend: 'bind/8080/l/m/backend0',
    principal: undefined,
    protocolVersion: undefined,
    client: undefined,
    createdAt: 0,
    resumed: false,
    lastUsedAt: 0,
    attached: false,
    streams: 0,
    held: 0,
    pressed: false,
    targets: [target('a', 1), target('b', 2)],
  };
  const open: PlaneView['mcp'] = {
    sessions: [session],
    children: 2,
    hidden: [],
    circuits: [],
    failedStarts: [],
  };
  const of = async (next: Model): Promise<readonly number[]> => {
    const { sessionsEnded, childrenStopped } = await configChanges(before, next, open);
    return [sessionsEnded, childrenStopped];
  };
  assert.deepEqual(await of(mcp('a', 'b')), [0, 0]);
  assert.deepEqual(await of(mcp('a', 'c')), [0, 1]);
  assert.deepEqual(await of(withRoutes(`[${route('a', 1)}]`)), [1, 2]);
});

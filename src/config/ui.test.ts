import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText, renderProblem } from './index.ts';

const gateway = { port: 8080, address: '127.0.0.1' };
const load = (ui: object, more: object = {}) =>
  loadText(JSON.stringify({ gateways: { default: gateway }, ui, ...more }), { file: 'f.yaml', env: {} });

function problemsOf(ui: object, more: object = {}): string {
  const result = load(ui, more);
  return result.ok ? '' : result.problems.map(renderProblem).join('\n');
}

const basicAuth = { htpasswd: 'a:$$2b$$04$$bP6ymleiKJ4qOATF/3IV5eBsJAMYfR/voqcOWB0HrECKBIlgZ0vB.' };

test('the console on a gateway is a route with its policies, and no route without gateways', () => {
  const result = load({
    gateways: 'default',
    policies: { basicAuth },
    operators: { rules: ['basicAuth.username == "a"'] },
  });
  assert.ok(result.ok, JSON.stringify(result));
  const [listener] = result.model.binds[0]?.listeners ?? [];
  assert.ok(listener !== undefined && 'routes' in listener);
  const [route] = listener.routes;
  assert.deepEqual(
    route?.matches.map(({ path }) => path.value),
    ['/ui', '/api/v1'],
  );
  assert.deepEqual(
    route?.policies.map(({ name }) => name),
    ['basicAuth'],
  );
  const [backend] = route?.backends ?? [];
  assert.equal(backend?.kind, 'console');
  for (const ui of [{}, { gateways: [] }]) {
    const closed = load(ui);
    assert.ok(closed.ok);
    assert.deepEqual(
      closed.model.binds.flatMap((bind) => bind.listeners.map((one) => 'routes' in one && one.routes)),
      [[]],
    );
  }
});

test('a console without authenticated callers is refused, and so are policies that it does not have', () => {
  const login = { basicAuth };
  for (const [ui, problem] of [
    [{ gateways: ['default'] }, /ui\.gateways: the console needs callers that are authenticated/],
    [{ gateways: ['default'], policies: {} }, /ui\.policies: the console needs callers/],
    [{ gateways: ['default'], policies: { authorization: { rules: ['true'] } } }, /needs callers/],
    [{ policies: login }, /ui\.policies: belongs to a console on `gateways`/],
    [{ operators: { rules: ['true'] } }, /ui\.operators: belongs to a console/],
    [{ gateways: 'other', policies: login }, /there is no gateway "other"/],
    [{ gateways: 'default', policies: { ...login, cors: {} } }, /cors: known, but not built/],
    [{ gateways: 'default', policies: { ...login, retry: {} } }, /retry/],
    [
      { gateways: 'default', policies: login, operators: { rules: [{ deny: 'false' }] } },
      /ui\.operators\.rules: expected a rule with allow or require|can never be true/,
    ],
    [{ gateways: 'default', policies: login, operators: { rules: [] } }, /expected a rule with allow/],
    [{ gateways: 'default', policies: login, operators: { rules: ['nobody'] } }, /nobody/],
  ] as const)
    assert.match(problemsOf(ui, { routes: [] }), problem, JSON.stringify(ui));
  const routes = [{ name: 'ui', policies: { directResponse: { status: 204 } } }];
  assert.match(problemsOf({ gateways: 'default', policies: login }, { routes }), /has this name/);
});

test('a console that other machines reach without TLS has a warning', () => {
  const warnings = (more: object): string => {
    const result = load(
      { gateways: 'default', policies: { basicAuth: { ...basicAuth, mode: 'strict' } } },
      more,
    );
    assert.ok(result.ok, JSON.stringify(result));
    return result.warnings.map(renderProblem).join('\n');
  };
  assert.doesNotMatch(warnings({}), /TLS/);
  assert.match(warnings({ gateways: { default: { port: 8080 } } }), /ui: .*without TLS/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from './load.ts';
import { renderProblem } from './problem.ts';

const problems = (text: string, env: Readonly<Record<string, string>> = {}): readonly string[] => {
  const result = loadText(text, { file: 'c', env });
  return result.ok ? [] : result.problems.map(renderProblem);
};

const bind = (settings: string): string =>
  `binds: [{${settings}, listeners: [{routes: [{policies: {directResponse: {status: 204}}}]}]}]`;

test('two ports of the operator with one address are a problem', () => {
  assert.deepEqual(
    problems('config: {adminAddr: "127.0.0.1:15400", statsAddr: "0.0.0.0:15400"}\nbinds: []'),
    [
      'c:1:51: config.statsAddr: port 15400 is used by config.adminAddr already (choose another port, or off)',
    ],
  );
});

test('a port of the operator that a listener has is a problem, written or not', () => {
  const [written = ''] = problems(`config: {readinessAddr: "[::]:15400"}\n${bind('port: 15400')}`);
  assert.match(written, /^c:1:\d+: config\.readinessAddr: port 15400 is used by a listener already/);
  const [byDefault = ''] = problems(bind('port: 15000'));
  assert.match(byDefault, /config\.adminAddr: port 15000 is used by a listener already/);
  const [overridden = ''] = problems(bind('port: 15400'), { STATS_ADDR: '[::]:15400' });
  assert.match(overridden, /config\.statsAddr: port 15400 is used by a listener already/);
  const shortcut = 'mcp: {port: 15000, targets: [{name: a, stdio: {cmd: a}}]}';
  assert.match(problems(shortcut)[0] ?? '', /config\.adminAddr: port 15000 is used by a listener already/);
});

test('addresses that the gateway can open together are no problem', () => {
  assert.deepEqual(problems(bind('port: 15000'), { ADMIN_ADDR: 'off' }), []);
  assert.deepEqual(problems(bind('port: 0'), { ADMIN_ADDR: '127.0.0.1:0', STATS_ADDR: '127.0.0.1:0' }), []);
  assert.deepEqual(problems(bind('port: 15000, address: 192.0.2.1')), []);
  assert.deepEqual(problems('binds: [{port: 15000, listeners: [{protocol: UDP, udpRoutes: []}]}]'), []);
});

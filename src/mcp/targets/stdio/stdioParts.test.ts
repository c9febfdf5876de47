import { ThrottledLog } from '../../../telemetry/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog, stdioTarget } from '../../harness.testing.ts';
import { Backoff } from '../conversation/backoff.ts';
import { childEnvironment } from './environment.ts';
import { idOfLongLine } from '../conversation/longLine.ts';
import { readMessages } from '../conversation/readMessages.ts';
import { StderrLog } from './stderrLog.ts';

test('a child inherits the environment less the secrets of the gateway', () => {
  const env = childEnvironment(stdioTarget({ env: { A: '1' } }), new Set(['SESSION_KEY']), {
    PATH: '/bin',
    SESSION_KEY: 'secret',
  });
  assert.deepEqual(env, { PATH: '/bin', A: '1' });
});

test('clearEnv leaves only what the target sets', () => {
  const env = childEnvironment(stdioTarget({ clearEnv: true, env: { A: '1' } }), new Set(), { PATH: '/bin' });
  assert.deepEqual(env, { A: '1' });
});

test('restarts wait longer each time and are given up within the window, until the cool-down is over', () => {
  let now = 0;
  const policy = { firstDelayMs: 10, maxDelayMs: 30, maxFailures: 5, windowMs: 1_000, coolDownMs: 500 };
  const backoff = new Backoff(policy, () => now);
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => backoff.failure()),
    [10, 20, 30, 30, undefined],
  );
  assert.equal(backoff.mayTry, false);
  now = 500;
  assert.equal(backoff.mayTry, true);
  assert.equal(backoff.failure(), undefined, 'one more failure within the window is too many');
  now = 5_000;
  assert.equal(backoff.failure(), 10, 'old failures are forgotten');
});

test('the id of a line that is too long is found where servers write it', () => {
  const text = 'x'.repeat(50);
  assert.equal(idOfLongLine(`{"jsonrpc":"2.0","id":12,"result":{"a":"${text}`, text), 12);
  assert.equal(idOfLongLine(`{"result":{"a":"${text}`, `${text}"}},"jsonrpc":"2.0","id":13}`), 13);
  assert.equal(idOfLongLine(`{"result":{"a":"${text}`, `${text}","id":14}}`), undefined);
  assert.equal(idOfLongLine('{"result":"', 'x'), undefined);
});

test('a line may hold one message or a batch', () => {
  const one = '{"jsonrpc":"2.0","method":"a"}';
  assert.equal((readMessages(one) as unknown[]).length, 1);
  assert.equal((readMessages(`[${one}, ${one}]`) as unknown[]).length, 2);
  const faults = (line: string): unknown[] =>
    readMessages(line).map((message) => ('fault' in message ? message.fault : message.kind));
  assert.deepEqual(faults('Server listening'), ['not_json']);
  assert.deepEqual(faults('{"level":"info"}'), ['not_message']);
  assert.deepEqual(faults(`[${one}, 5]`), ['notification', 'not_message']);
});

test('a warning that a peer repeats is written once and counted', () => {
  const { log, lines } = recordingLog();
  const quiet = new ThrottledLog(log, 'again', 0);
  quiet.warn({});
  quiet.warn({});
  assert.equal(lines.length, 2);
  const rare = new ThrottledLog(log, 'rare', 60_000);
  for (let i = 0; i < 5; i++) rare.warn({ i });
  assert.equal(lines.length, 3);
});

test('of stderr the last twenty lines are kept, and a flood is not written to the log', () => {
  const { log, lines } = recordingLog();
  const stderr = new StderrLog(log);
  for (let i = 0; i < 10_000; i++) stderr.line(`line ${i}`);
  assert.ok(lines.length <= 300, `${lines.length} lines were written`);
  assert.equal(stderr.last().split('\n').length, 20);
  assert.match(stderr.last(), /line 9999$/);
});

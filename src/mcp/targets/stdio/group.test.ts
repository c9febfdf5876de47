import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { alive } from '../../alive.testing.ts';
import { signalGroup } from './group.ts';
import { startGroup } from './processes.testing.ts';

test('a signal reaches every process of a group, also when the leader is gone', async (t) => {
  const group = await startGroup(t, 'sleep 300 & echo $!; wait');
  const [output] = (await once(group.stdout!, 'data')) as [Buffer];
  const member = Number(output.toString());
  assert.equal(signalGroup(group.pid, 0), true);
  process.kill(group.pid, 'SIGKILL');
  await once(group, 'exit');
  assert.equal(signalGroup(group.pid, 0), true, 'the child of the leader is left');
  assert.equal(signalGroup(group.pid, 'SIGKILL'), true);
  await until('the member has ended', () => !alive(member));
});

test('a group without processes is told apart', async (t) => {
  const group = await startGroup(t, 'exec sleep 300');
  assert.equal(signalGroup(group.pid, 'SIGTERM'), true);
  await once(group, 'exit');
  assert.equal(signalGroup(group.pid, 0), false);
  assert.equal(signalGroup(group.pid, 'SIGTERM'), false);
});

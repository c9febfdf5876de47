import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Inheritance } from './inheritance.ts';
import { startSuccessor, type Successor } from './successor.ts';

const nothing: Inheritance = {
  sockets: new Map(),
  admin: new Map(),
  sessionKey: 'ab'.repeat(32),
  ticketSecret: Buffer.alloc(32, 7),
  upgrades: { success: 0, failure: 0 },
};

const start = (
  source: string,
  timeoutMs = 30_000,
  signal = new AbortController().signal,
): Promise<Successor> =>
  startSuccessor({
    program: { file: process.execPath, args: ['-e', source] },
    inheritance: nothing,
    withheld: [],
    timeoutMs,
    signal,
  });

const stays = 'setInterval(() => {}, 1000);';

test('a program that is never ready is ended when its time is over', async () => {
  await assert.rejects(start(stays, 300), /the new process was not ready within 0\.3 s/);
});

test('a program of another kind of messages is told apart', async () => {
  await assert.rejects(
    start(`process.send({ portcullis: 'hello', format: 99, version: 'x' }); ${stays}`),
    /use different upgrade formats \(99 and 1\)/,
  );
});

test('messages that are none of ours count for nothing', async () => {
  await assert.rejects(start('process.send({ hello: 1 }, () => process.exit(4))'), /exited: exit code 4/);
});

test('the failure of the new program is passed on', async () => {
  await assert.rejects(
    start(`process.send({ portcullis: 'failed', problem: 'no luck' }); ${stays}`),
    /^Error: no luck$/,
  );
});

test('a program that cannot be started is named', async () => {
  const program = { file: '/nowhere/node', args: [] };
  const { signal } = new AbortController();
  await assert.rejects(
    startSuccessor({ program, inheritance: nothing, withheld: [], timeoutMs: 30_000, signal }),
    /\/nowhere\/node cannot be started: .*ENOENT/,
  );
});

test('secrets reach the program over the channel alone', async () => {
  const successor = await start(`
    const told = [];
    process.on('message', (message) => {
      told.push(message);
      if (message.portcullis !== 'all') return;
      const [{ sessionKey, ticketSecret }] = told;
      const seen = JSON.stringify([process.env, process.argv, process.execArgv]);
      const sound = sessionKey === 'ab'.repeat(32) && ticketSecret === '07'.repeat(32) && !seen.includes(sessionKey);
      process.send(sound ? { portcullis: 'ready' } : { portcullis: 'failed', problem: seen });
    });
    process.send({ portcullis: 'hello', format: 1, version: '9.9.9' });
  `);
  assert.equal(successor.version, '9.9.9');
  successor.end();
});

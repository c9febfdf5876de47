import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { readOutput } from './childOutput.ts';
import { handleOf } from './pipeHandle.ts';

test('this version of Node has the handles below the pipes of a child', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  assert.ok(process.platform === 'win32' || handleOf(child.stdin)!.fd > 2);
  let read = '';
  const output = readOutput(child.stdout, (memory, length) => {
    read += memory.toString('utf8', 0, length);
  });
  assert.notEqual(output, child.stdout, 'the gateway reads without the stream of Node');
  child.stdin.end('hello');
  await Promise.all([once(output, 'end'), once(output, 'close'), once(child, 'close')]);
  assert.equal(read, 'hello');
  assert.equal(handleOf(child.stdin), undefined, 'a closed pipe has no handle');
});

test('a stream without a handle is read as it is', async () => {
  const stream = new PassThrough();
  let read = '';
  const output = readOutput(stream, (memory, length) => {
    read += memory.toString('utf8', 0, length);
  });
  assert.equal(output, stream);
  stream.end('hello');
  await once(output, 'end');
  assert.equal(read, 'hello');
});

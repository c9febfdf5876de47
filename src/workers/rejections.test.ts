import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const program = `
import { createLogger } from './src/telemetry/index.ts';
import { surviveRejections } from './src/workers/rejections.ts';
const end = surviveRejections(createLogger({ level: 'error', format: 'text' }));
void Promise.reject(new Error('of one request'));
setTimeout(() => {
  console.log('served the next request');
  end();
  void Promise.reject(new Error('after the end'));
}, 1);
`;

test('a rejection that nobody waits for is logged with its stack, and ends no process while it serves', () => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module-typescript', '--eval', program],
    { cwd: new URL('../..', import.meta.url), encoding: 'utf8' },
  );
  assert.match(stdout + stderr, /nobody waited for it.*of one request/s);
  assert.match(stdout, /served the next request/);
  assert.equal(status, 1, 'Node ends the process after that');
});

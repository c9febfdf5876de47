import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

test('a worker for which the system has no file descriptors has ended, and says why', async () => {
  // In a process of its own, which opens files until it may open no more.
  const source = `
    import { openSync } from 'node:fs';
    import { WorkerProcess } from '${new URL('workerProcess.ts', import.meta.url).href}';
    const nothing = { write: () => undefined };
    const options = { worker: 1, out: nothing, err: nothing, withheld: () => [], counter: () => Promise.resolve('') };
    console.log('loaded');
    try {
      for (;;) openSync('/dev/null');
    } catch {}
    const worker = new WorkerProcess(options);
    const told = worker.link.ask('beat').catch((error) => error.name);
    console.log(await worker.ended, await told);
  `;
  const child = spawn(
    '/bin/sh',
    ['-c', 'ulimit -n 64 && exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', source],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.match(out, /^loaded\n.*EMFILE LinkClosed\n$/, err);
});

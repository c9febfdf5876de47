import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

test('an audit line never stands within an access line of which a slow reader has taken a part', async () => {
  const script = `
    import { readSync } from 'node:fs';
    import { setImmediate } from 'node:timers/promises';
    import { Sink } from ${urlOf('../telemetry/index.ts')};
    import { StdoutSink } from ${urlOf('stdoutSink.ts')};
    const access = new Sink(1, { flushAt: 1, flushMs: 60000 });
    const audit = new StdoutSink();
    access.write(('access ' + 'x'.repeat(1000) + '\\n').repeat(2000));
    // Nothing else runs until the reader has made some room, so the access log cannot go on.
    readSync(0, Buffer.alloc(1));
    const auditLine = Buffer.from('audit ' + 'y'.repeat(100) + '\\n');
    for (let written = 0; written < 3;) {
      await audit.write(auditLine).then(() => written++, setImmediate);
    }
    // The audit stream leaves a part of a long line behind, too.
    const long = Buffer.from('long ' + 'z'.repeat(1000000) + '\\n');
    const attempt = audit.write(long).catch(() => undefined);
    access.write('access ' + 'x'.repeat(1000) + '\\n');
    await attempt;
    access.close();
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
  let text = '';
  let failure = '';
  child.stderr.on('data', (chunk: Buffer) => (failure += chunk.toString()));
  child.stdout.once('data', () => child.stdin.end('x'));
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  assert.equal(failure, '');
  const lines = text.trimEnd().split('\n');
  const broken = lines.filter((line) => !/^(?:access x{1000}|audit y{100}|long z*)$/.test(line));
  assert.deepEqual(
    broken.map((line) => line.slice(0, 1_200)),
    [],
  );
  assert.equal(lines.filter((line) => line.startsWith('audit')).length, 3);
  assert.equal(lines.filter((line) => line.startsWith('access')).length, 2_001);
});

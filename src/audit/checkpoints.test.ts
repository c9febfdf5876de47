import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../telemetry/index.ts';
import { MemoryDestination } from '../telemetry/memory.testing.ts';
import { Chain, ChainKeys } from './chain.ts';
import { Checkpoints, readCheckpoint } from './checkpoints.ts';
import { streamLine } from './lines.ts';
import { sealedLine } from './lines.testing.ts';

const keys = new ChainKeys(Buffer.from('s'.repeat(40)));
const chain = new Chain('worker-1', keys);
sealedLine(chain, streamLine('audit.start', {}));
const checkpoint = { ...chain.place, signature: keys.signatureOf(chain.place) };
const { writer, epoch, seq, mac, signature } = checkpoint;

for (const format of ['json', 'text'] as const) {
  test(`a checkpoint in the log as ${format} is read, also behind what a collector writes`, async () => {
    const destination = new MemoryDestination();
    const log = createLogger({ level: 'info', format, destination }).child({ worker: 1 });
    const checkpoints = new Checkpoints({ keys, everyMs: 1_000, log });
    checkpoints.due(chain.place);
    await checkpoints.close(true);
    for (const before of ['', '[pod/gateway] ', '2026-11-28T12:00:00.123456789Z stderr F '])
      assert.deepEqual(readCheckpoint(before + destination.lines[0]!), checkpoint);
  });

  test(`a text of a client in the log as ${format} is no checkpoint`, () => {
    const members = `writer=${writer} epoch=${epoch} seq=${seq} mac=${mac} signature=${signature}`;
    const texts = [members, members.replaceAll(' ', '/'), JSON.stringify(checkpoint)];
    for (const text of [...texts, `Audit checkpoint ${members}`]) {
      const destination = new MemoryDestination();
      const log = createLogger({ level: 'info', format, destination });
      log.info('Refused', { path: text });
      log.info(`Refused ${text}`);
      for (const line of destination.lines) assert.equal(readCheckpoint(line), undefined, line);
    }
  });
}

test('a checkpoint needs the exact form of each member', () => {
  assert.deepEqual(readCheckpoint(JSON.stringify({ time: 'now', ...checkpoint })), checkpoint);
  const wrong = [
    { writer: 'a b' },
    { epoch: 'b' },
    { seq: 'c' },
    { mac: 'x' },
    { signature: 'y' },
    { path: '/' },
  ];
  for (const members of wrong)
    assert.equal(readCheckpoint(JSON.stringify({ ...checkpoint, ...members })), undefined);
});

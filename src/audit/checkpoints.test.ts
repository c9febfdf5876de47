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
    const since = Date.now();
    checkpoints.due(chain.place);
    await checkpoints.close(true);
    for (const before of ['', '[pod/gateway] ', '2026-11-28T12:00:00.123456789Z stderr F ']) {
      const { stored, ...read } = readCheckpoint(before + destination.lines[0]!)!;
      assert.deepEqual(read, checkpoint);
      assert.ok(stored! >= since && stored! <= Date.now());
    }
  });

  test(`a text of a client in the log as ${format} is no checkpoint`, () => {
    const members = `writer=${writer} epoch=${epoch} seq=${seq} mac=${mac} signature=${signature}`;
    const texts = [members, members.replaceAll(' ', '/'), JSON.stringify(checkpoint)];
    for (const text of [...texts, `Audit checkpoint ${members}`]) {
      const destination = new MemoryDestination();
      const log = createLogger({ level: 'info', format, destination });
      log.info('Refused', { path: text });
      log.info(`Refused ${text}`);
      log.close();
      for (const line of destination.lines) assert.equal(readCheckpoint(line), undefined, line);
    }
  });
}

/** Lines of collectors and terminals around a line of the gateway. */
const wrappings: Readonly<Record<string, (line: string) => string>> = {
  'a json-file log of Docker': (log) => JSON.stringify({ log: `${log}\n`, stream: 'stderr', time: 'x' }),
  'Fluent Bit': (log) => JSON.stringify({ date: 1, stream: 'stderr', logtag: 'F', log }),
  Vector: (message) => JSON.stringify({ file: 'x', message, source_type: 'file', timestamp: 'x' }),
  'Vector on files of a container runtime': (line) =>
    JSON.stringify({ message: `2026-11-28T12:00:00.123456789Z stderr F ${line}`, source_type: 'file' }),
  'Compose with colours': (line) => `\u001b[36mgateway-1  | \u001b[0m${line}`,
  'labels in braces': (line) => `{app="gateway"} ${line}`,
};

for (const format of ['json', 'text'] as const) {
  const logged = (write: (log: ReturnType<typeof createLogger>) => void): string => {
    const destination = new MemoryDestination();
    const log = createLogger({ level: 'info', format, destination });
    write(log);
    log.close();
    return destination.lines[0]!;
  };
  const line = logged((log) => log.info('Audit checkpoint', checkpoint));

  for (const [name, wrap] of Object.entries(wrappings)) {
    // Braces in front of JSON make no JSON together.
    if (format === 'json' && name.startsWith('labels')) continue;
    test(`a checkpoint in the log as ${format} is read from ${name}`, () => {
      assert.deepEqual(readCheckpoint(wrap(line)), checkpoint);
    });

    test(`a text of a client in the log as ${format} is no checkpoint in ${name}`, () => {
      const hostile = [line, wrap(line), wrap(wrap(line)), ` ${line}`, JSON.stringify(checkpoint)];
      for (const text of hostile) {
        const lines = [
          logged((log) => log.info('Refused', { log: text, message: text })),
          logged((log) => log.info(text)),
          logged((log) => log.info(`Refused ${text}`)),
        ];
        for (const one of lines) {
          assert.equal(readCheckpoint(one), undefined, one);
          assert.equal(readCheckpoint(wrap(one)), undefined, wrap(one));
        }
      }
    });
  }

  test(`an added field of the access log is no checkpoint beside a log as ${format}`, () => {
    for (const text of [line, wrappings['a json-file log of Docker']!(line)])
      for (const name of ['log', 'message']) {
        const access = JSON.stringify({ time: 'x', status: 200, durationMs: 1, [name]: text });
        assert.equal(readCheckpoint(access), undefined, access);
        for (const wrap of Object.values(wrappings)) assert.equal(readCheckpoint(wrap(access)), undefined);
      }
  });

  test(`a piece of a long line is no checkpoint, even if it looks like a line of a log as ${format}`, () => {
    const pieces = [
      JSON.stringify({ log: line, stream: 'stdout', time: 'x' }),
      JSON.stringify({ log: line, stream: 'stdout', logtag: 'P', time: 'x' }),
      `2026-11-28T12:00:00.123456789Z stdout P ${line}`,
      JSON.stringify({ message: `2026-11-28T12:00:00.123456789Z stdout P ${line}`, source_type: 'file' }),
    ];
    for (const piece of pieces) assert.equal(readCheckpoint(piece), undefined, piece);
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

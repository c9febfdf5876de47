import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { Chain, ChainKeys } from './chain.ts';
import { operationLine, streamLine } from './lines.ts';
import { sealedLine } from './lines.testing.ts';
import { verifyFiles, type Verification } from './verify.ts';

const key = Buffer.from('s'.repeat(40));
const keys = new ChainKeys(key);
const start = Date.parse('2026-11-28T12:00:00Z');

/** Writes the lines of one run of a writer, a second apart. */
class Run {
  readonly lines: string[];
  readonly chain: Chain;

  constructor(writer: string, first: number, previous?: Run) {
    this.chain = new Chain(writer, keys);
    const { epoch, seq, mac } = previous?.chain.place ?? {};
    const named = mac && { 'previous.epoch': epoch!, 'previous.seq': seq!, 'previous.mac': mac };
    this.lines = [
      sealedLine(
        this.chain,
        streamLine('audit.start', named || {}).replace(/\d+/, `${start + first * 1_000}`),
      ),
    ];
    for (let i = 1; i < 4; i++) this.call(first + i);
  }

  call(second: number, durationMs = 1): void {
    const time = start + second * 1_000;
    const operation = { time, operation: 'tools/call', caller: {} };
    this.lines.push(sealedLine(this.chain, operationLine(operation, { outcome: 'ok', durationMs })));
  }

  checkpoint(second?: number): string {
    const { place } = this.chain;
    const stored = second === undefined ? {} : { stored: new Date(start + second * 1_000).toISOString() };
    return `${JSON.stringify({ ...stored, ...place, signature: keys.signatureOf(place) })}\n`;
  }
}

async function verify(
  t: TestContext,
  files: readonly (readonly string[])[],
  checkpoints = '',
): Promise<Verification> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-partial-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const names = files.map((lines, index) => {
    const file = join(folder, String(index));
    writeFileSync(file, lines.join(''));
    return file;
  });
  const log = join(folder, 'checkpoints');
  writeFileSync(log, checkpoints);
  return verifyFiles({ files: names, key, checkpoints: checkpoints === '' ? [] : [log], partial: true });
}

const messagesOf = ({ problems }: Verification): string[] =>
  problems.map(({ kind, message }) => `${kind}: ${message.replaceAll(/[0-9a-f]{16}/g, 'E')}`);

describe('a stream whose older files were removed', () => {
  test('a run between two others of its writer cannot be missing', async (t) => {
    const first = new Run('server', 0);
    const second = new Run('server', 10, first);
    const third = new Run('server', 20, second);
    assert.deepEqual(messagesOf(await verify(t, [[...first.lines, ...second.lines, ...third.lines]])), []);
    assert.deepEqual(messagesOf(await verify(t, [[...first.lines.slice(2), ...third.lines]])), [
      'missing: all lines of server epoch E are missing: epoch E names line 4 of it',
    ]);
  });

  test('a run cannot be missing if the one that names it begins after the oldest file', async (t) => {
    const other = new Run('control', 0);
    const first = new Run('server', 0);
    const second = new Run('server', 10, first);
    assert.deepEqual(messagesOf(await verify(t, [[...other.lines, ...second.lines]])), []);
    assert.deepEqual(messagesOf(await verify(t, [other.lines, second.lines])), [
      'missing: all lines of server epoch E are missing: epoch E names line 4 of it',
    ]);
  });

  test('a run with a line that was stored after the oldest file cannot be missing', async (t) => {
    const first = new Run('server', 0);
    const second = new Run('server', 10, first);
    const checkpoints = first.checkpoint(4) + second.checkpoint(14);
    assert.deepEqual(messagesOf(await verify(t, [second.lines], checkpoints)), []);
    assert.deepEqual(messagesOf(await verify(t, [first.lines], checkpoints)), [
      'missing: all lines of server epoch E are missing: a checkpoint names line 4 of it',
    ]);
    // Checkpoints of older gateways do not say when.
    assert.deepEqual(messagesOf(await verify(t, [first.lines], second.checkpoint())), []);
  });

  test('a line counts from the end of its operation on, which may have begun long before', async (t) => {
    const quiet = new Run('control', 0);
    const long = new Run('server', 0);
    long.call(1, 3_600_000);
    const checkpoints = quiet.checkpoint(1_800);
    assert.deepEqual(messagesOf(await verify(t, [long.lines], checkpoints)), []);
    assert.equal(messagesOf(await verify(t, [long.lines.slice(0, 3)], checkpoints)).length, 1);
  });

  test('the first line of a cut run is listed, because its content is not proven', async (t) => {
    const run = new Run('server', 0);
    const { problems, unchecked } = await verify(t, [run.lines.slice(2)]);
    assert.deepEqual(
      [problems, unchecked.map(({ at, message }) => [at.line, message.replace(/[0-9a-f]{16}/, 'E')])],
      [[], [[1, 'the code of line 3 of server epoch E covers a line that is not there']]],
    );
    assert.deepEqual((await verify(t, [run.lines])).unchecked, []);
  });
});

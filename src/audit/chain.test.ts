import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { argumentsView } from './argumentsView.ts';
import { Chain, ChainKeys } from './chain.ts';
import { operationLine, streamLine, type AuditedDetails } from './lines.ts';
import { sealedLine } from './lines.testing.ts';
import { verifyFiles, type Verification } from './verify.ts';

const key = Buffer.from('s'.repeat(40));
const keys = new ChainKeys(key);

/** A stream of two writers, each with a clean end. */
class Stream {
  readonly folder = mkdtempSync(join(tmpdir(), 'portcullis-chain-'));
  readonly file = join(this.folder, 'audit.jsonl');
  readonly checkpointFile = join(this.folder, 'checkpoints.jsonl');
  readonly chains = [new Chain('worker-1', keys), new Chain('worker-2', keys)];
  lines: string[] = [];

  constructor(t: TestContext, count = 12) {
    t.after(() => rmSync(this.folder, { recursive: true }));
    for (const chain of this.chains) this.lines.push(sealedLine(chain, streamLine('audit.start', {})));
    for (let i = 0; i < count; i++)
      this.lines.push(
        sealedLine(this.chains[i % 2]!, `{"time":${Date.now() + i},"api.operation":"tools/call","n":${i}`),
      );
    for (const chain of this.chains) this.lines.push(sealedLine(chain, streamLine('audit.stop', {})));
  }

  checkpoint(): void {
    for (const { place } of this.chains)
      appendFileSync(
        this.checkpointFile,
        `${JSON.stringify({ ...place, signature: keys.signatureOf(place) })}\n`,
      );
  }

  verify(partial = false, checkpoints: readonly string[] = []): Promise<Verification> {
    writeFileSync(this.file, this.lines.join(''));
    return verifyFiles({ files: [this.file], key, checkpoints, partial });
  }
}

const kindsOf = ({ problems }: Verification): string[] => problems.map(({ kind }) => kind);

describe('verification of a chain', () => {
  test('a stream as it was written is intact', async (t) => {
    const stream = new Stream(t);
    stream.checkpoint();
    const found = await stream.verify(false, [stream.checkpointFile]);
    assert.deepEqual([found.problems, found.gaps, found.lines], [[], [], 16]);
  });

  test('each altered, removed, repeated and moved line is found at its place', async (t) => {
    for (let at = 0; at < 16; at++) {
      const altered = new Stream(t);
      altered.lines[at] = altered.lines[at]!.replace('"time":', '"time":9');
      const found = await altered.verify();
      assert.deepEqual(kindsOf(found), ['altered'], `line ${at + 1}`);
      assert.equal(found.problems[0]?.at?.line, at + 1);

      const removed = new Stream(t);
      removed.lines.splice(at, 1);
      const without = await removed.verify();
      // The last line of a writer says that it has stopped: without it, the stream has an open end.
      if (at >= 14)
        assert.deepEqual(
          without.gaps.map(({ kind }) => kind),
          ['running'],
        );
      else assert.deepEqual(kindsOf(without), ['missing'], `line ${at + 1}`);
    }
    const moved = new Stream(t);
    const [line] = moved.lines.splice(4, 1);
    moved.lines.splice(8, 0, line!);
    assert.deepEqual(kindsOf(await moved.verify()), ['reordered']);
    const inserted = new Stream(t);
    inserted.lines.splice(5, 0, '{"time":5,"api.operation":"tools/call"}\n');
    assert.deepEqual(kindsOf(await inserted.verify()), ['foreign']);
  });

  test('a cut end and a chain that was computed anew contradict the checkpoints', async (t) => {
    const cut = new Stream(t);
    cut.checkpoint();
    cut.lines.splice(-2);
    assert.deepEqual(kindsOf(await cut.verify(false, [cut.checkpointFile])), ['missing', 'missing']);

    const honest = new Stream(t);
    honest.checkpoint();
    const { epoch } = honest.chains[0]!;
    const other = new Stream(t);
    // The forger has the key, and writes another history under the same names.
    const fake: string[] = [];
    const again = chainNamed('worker-1', epoch);
    for (let i = 0; i < 8; i++) fake.push(again(`{"time":${i},"api.operation":"tools/call"`));
    other.lines = [...fake, ...honest.lines.filter((line) => line.includes('worker-2'))];
    const found = await other.verify(false, [honest.checkpointFile]);
    assert.deepEqual(kindsOf(found), ['checkpoint']);
  });

  test('a forged checkpoint, another key and an empty file are no proof', async (t) => {
    const stream = new Stream(t);
    writeFileSync(
      stream.checkpointFile,
      `${JSON.stringify({ ...stream.chains[0]!.place, signature: 'x'.repeat(43) })}\n`,
    );
    assert.deepEqual(kindsOf(await stream.verify(false, [stream.checkpointFile])), ['checkpoint']);
    const other = await verifyFiles({
      files: [stream.file],
      key: Buffer.from('o'.repeat(40)),
      checkpoints: [],
      partial: false,
    });
    assert.equal(other.problems.length, 16);
    stream.lines = [];
    assert.deepEqual(kindsOf(await stream.verify()), ['missing']);
  });

  test('files of checkpoints without any checkpoint are a problem, and one of several is named', async (t) => {
    const stream = new Stream(t);
    const quiet = join(stream.folder, 'quiet.log');
    writeFileSync(quiet, '2026-11-28T12:00:00.000Z INFO  Configuration loaded\n');
    const without = await stream.verify(false, [quiet]);
    assert.deepEqual(kindsOf(without), ['checkpoint']);
    assert.match(without.problems[0]!.message, /no checkpoint found in .*quiet\.log/);
    stream.checkpoint();
    const found = await stream.verify(false, [quiet, stream.checkpointFile]);
    assert.deepEqual([found.problems, found.withoutCheckpoint], [[], [quiet]]);
  });

  test('torn lines, blank lines and repeated batches are no problems', async (t) => {
    const stream = new Stream(t);
    const torn = stream.lines[6]!.slice(0, 40);
    stream.lines.splice(6, 0, torn, '\n\n', stream.lines[5]!);
    stream.lines.splice(3, 0, torn);
    const found = await stream.verify();
    assert.deepEqual([found.problems, found.pieces.map(({ line }) => line)], [[], [4, 7]]);
    assert.deepEqual(
      found.copies.map(({ at, message }) => [at.line, message.replace(/ of \S+ epoch .*/, '')]),
      [[9, 'copy of line 3']],
    );
  });

  test('an object that a reader of JSON takes for a line is no piece of one', async (t) => {
    const forge = (line: string): string => line.trimEnd().replace('tools/call', 'tools/list');
    const plain = '{"time":5,"api.operation":"tools/call"}';
    for (const space of [' ', '\t', '  \t']) {
      for (const forged of [plain, forge(new Stream(t).lines[4]!)]) {
        const stream = new Stream(t);
        stream.lines.splice(5, 0, `${forged}${space}\n`);
        const found = await stream.verify();
        assert.deepEqual([kindsOf(found), found.pieces, found.problems[0]?.at?.line], [['foreign'], [], 6]);
      }
    }
    for (const between of ['', ' ', ',', '{"time":', '[']) {
      const stream = new Stream(t);
      stream.lines[5] = forge(stream.lines[4]!) + between + stream.lines[5]!;
      const found = await stream.verify();
      assert.deepEqual([kindsOf(found), found.pieces, found.lines], [['foreign'], [], 16]);
    }
    const listed = new Stream(t);
    listed.lines[5] = `[${listed.lines[5]!}`;
    assert.deepEqual(kindsOf(await listed.verify()), ['foreign']);
  });

  test('a piece may end behind any character of a line', async (t) => {
    const chain = new Chain('server', keys);
    const stream = new Stream(t);
    const line = calledWith(chain, { arguments: '{"time":{"a":"}\\"{"},"b":[{}]}', name: 'a{"}' });
    const pieces = Array.from({ length: line.length - 2 }, (_, index) => line.slice(0, index + 1));
    stream.lines.splice(4, 0, ...pieces.map((piece) => `${piece}\n`));
    const found = await stream.verify();
    assert.deepEqual([found.problems, found.pieces.length], [[], pieces.length]);
    stream.lines = pieces.map((piece) => piece + stream.lines[0]!);
    assert.deepEqual((await stream.verify()).pieces.length, pieces.length);
  });

  test('a line with the code of another line and a content of its own is no copy', async (t) => {
    const stream = new Stream(t);
    stream.lines.splice(5, 0, stream.lines[4]!.replace('tools/call', 'tools/list'));
    const found = await stream.verify();
    assert.deepEqual([kindsOf(found), found.copies, found.problems[0]?.at?.line], [['repeated'], [], 6]);
  });

  test('a long file that is given twice has copies only', async (t) => {
    const stream = new Stream(t, 24_000);
    const whole = stream.lines;
    stream.lines = [...whole, ...whole];
    const found = await stream.verify();
    assert.deepEqual([found.problems, found.copies.length], [[], whole.length]);

    // The second of two files may be there twice, too.
    const [first, second, copy] = ['1', '2', '3'].map((name) => join(stream.folder, name));
    writeFileSync(first!, whole.slice(0, 2_000).join(''));
    for (const file of [second!, copy!]) writeFileSync(file, whole.slice(2_000).join(''));
    const files = [first!, second!, copy!];
    const again = await verifyFiles({ files, key, checkpoints: [], partial: false });
    assert.deepEqual([again.problems, again.copies.length], [[], whole.length - 2_000]);
  });

  test('a line that stands there again after many others is a problem, unless the line before it proves it', async (t) => {
    const stream = new Stream(t, 24_000);
    const old = stream.lines.filter((line) => line.includes('worker-1')).slice(500, 503);
    stream.lines.push(...old);
    const found = await stream.verify();
    assert.match(found.problems[0]!.message, /^line 501 of .* stands there again, too late to compare it$/);
    assert.deepEqual([found.problems.length, found.copies.length], [1, 2]);
    stream.lines.splice(-1, 1, old[2]!.replace('tools/call', 'tools/list'));
    assert.deepEqual(kindsOf(await stream.verify()), ['repeated', 'repeated']);
  });

  test('arguments of a client tell nothing about the stream itself', async (t) => {
    const stream = new Stream(t);
    const chain = new Chain('server', keys);
    stream.lines.push(
      sealedLine(chain, streamLine('audit.start', {})),
      ...[
        '{"api.operation":"audit.lost","audit.lost_lines":999}',
        '{"mcp.phase":"intent","metadata.correlation_uid":"abc.1"}',
        '{"api.operation":"audit.stop"}',
      ].map((text) => calledWith(chain, { arguments: text })),
    );
    const { gaps, unfinished, problems } = await stream.verify();
    assert.deepEqual(
      gaps.map(({ kind, lost }) => [kind, lost]),
      [['running', 0]],
    );
    assert.deepEqual([unfinished, problems], [0, []]);
  });

  test('arguments that look like the beginning of a line are a part of their line', async (t) => {
    const texts = ['{"time":"12:00"}', '{"events":[{"time":1},{"time":2}]}', '{"text":"{\\"time\\":"}'];
    const chain = new Chain('server', keys);
    const stream = new Stream(t);
    stream.lines = [sealedLine(chain, streamLine('audit.start', {}))];
    for (const text of texts) {
      const line = calledWith(chain, { arguments: text });
      // A piece of a line may stand before it.
      stream.lines.push(line.slice(0, 300) + line, calledWith(chain, { arguments: text }));
    }
    stream.lines.push(sealedLine(chain, streamLine('audit.stop', {})));
    const found = await stream.verify();
    assert.deepEqual([found.problems, found.gaps, found.pieces.length, found.lines], [[], [], 3, 8]);
    stream.lines[4] = stream.lines[4]!.replace('"time":1}', '"time":3}');
    assert.deepEqual(kindsOf(await stream.verify()), ['altered']);
  });

  test('names with line separators of Unicode are parts of their lines', async (t) => {
    const chain = new Chain('server', keys);
    const stream = new Stream(t);
    stream.lines = [
      sealedLine(chain, streamLine('audit.start', {})),
      calledWith(chain, { name: 'a\u2028b\u2029c\u0085d' }),
      calledWith(chain, { arguments: argumentsView({ arguments: 'full', redact: [] })('{"a\u2028b":1}') }),
      // Long lines go over the parts in which the file is read.
      ...Array.from({ length: 40 }, () => calledWith(chain, { arguments: `"${'é'.repeat(9_999)}"` })),
      sealedLine(chain, streamLine('audit.stop', {})),
    ];
    const found = await stream.verify();
    assert.deepEqual([found.problems, found.gaps, found.lines], [[], [], 44]);
    stream.lines = stream.lines.map((line) => line.replace('\n', '\r\n'));
    assert.deepEqual((await stream.verify()).problems, []);
  });

  test('a stream whose beginning was removed is intact only as a part', async (t) => {
    const stream = new Stream(t);
    stream.lines.splice(0, 6);
    assert.deepEqual(kindsOf(await stream.verify()), ['missing', 'missing']);
    assert.deepEqual(kindsOf(await stream.verify(true)), []);
  });

  test('a line that is all of its epoch in a partial stream needs a proof', async (t) => {
    const stream = new Stream(t);
    const others = stream.lines.filter((line) => line.includes('worker-2'));
    const last = stream.lines.findLast((line) => line.includes('worker-1'))!;
    const { epoch, place } = stream.chains[0]!;
    stream.lines = [...others, last];
    assert.deepEqual(kindsOf(await stream.verify(true)), ['foreign']);
    stream.lines = [...others, last.replace(epoch, 'deadbeefdeadbeef')];
    assert.deepEqual(kindsOf(await stream.verify(true)), ['foreign']);

    stream.lines = [...others, last];
    stream.checkpoint();
    assert.deepEqual(kindsOf(await stream.verify(true, [stream.checkpointFile])), []);
    const next = { 'previous.epoch': epoch, 'previous.seq': place.seq, 'previous.mac': place.mac };
    stream.lines.push(sealedLine(new Chain('worker-1', keys), streamLine('audit.start', next)));
    assert.deepEqual(kindsOf(await stream.verify(true)), []);
  });

  test('a partial stream names epochs that begin after its oldest file', async (t) => {
    const stream = new Stream(t);
    const [first, second] = [join(stream.folder, '1'), join(stream.folder, '2')];
    const [oldest, rest] = [stream.lines.slice(2, 10), stream.lines.slice(10)];
    const verify = (): Promise<Verification> =>
      verifyFiles({ files: [first, second], key, checkpoints: [], partial: true });
    writeFileSync(first, oldest.join(''));
    writeFileSync(second, rest.join(''));
    assert.deepEqual((await verify()).gaps, []);
    writeFileSync(first, oldest.filter((line) => line.includes('worker-2')).join(''));
    const { problems, gaps } = await verify();
    assert.deepEqual(
      gaps.map(({ writer, kind, seq }) => [writer, kind, seq]),
      [['worker-1', 'begin', 6]],
    );
    assert.deepEqual(problems, []);
  });

  test('the numbers of lines order the files, although an operation began before an older file', async (t) => {
    const stream = new Stream(t);
    const [first, second, third] = ['c', 'b', 'a'].map((name) => join(stream.folder, name));
    const chain = new Chain('server', keys);
    const old = sealedLine(chain, streamLine('audit.start', {}));
    const long = sealedLine(chain, '{"time":1000,"api.operation":"stream/open"');
    writeFileSync(first!, stream.lines.slice(0, 5).join('') + old);
    writeFileSync(second!, long + stream.lines.slice(5, 10).join(''));
    writeFileSync(third!, stream.lines.slice(10).join('') + sealedLine(chain, streamLine('audit.stop', {})));
    const files = [third!, second!, first!];
    const found = await verifyFiles({ files, key, checkpoints: [], partial: false });
    assert.deepEqual([found.problems, found.gaps], [[], []]);
  });

  test('files are read in the order of their first lines', async (t) => {
    const stream = new Stream(t);
    const [first, second] = [join(stream.folder, 'z'), join(stream.folder, 'a')];
    writeFileSync(first, stream.lines.slice(0, 7).join(''));
    writeFileSync(second, stream.lines.slice(7).join(''));
    const found = await verifyFiles({ files: [second, first], key, checkpoints: [], partial: false });
    assert.deepEqual([found.problems, found.gaps], [[], []]);
  });
});

/** The line of a call. */
const calledWith = (chain: Chain, details: AuditedDetails): string =>
  sealedLine(
    chain,
    operationLine({ time: Date.now(), operation: 'tools/call', caller: {}, details }, { outcome: 'ok' }),
  );

/** Seals lines under a given epoch, as somebody with the key could. */
function chainNamed(writer: string, epoch: string): (open: string) => string {
  const chain = new Chain(writer, keys, epoch);
  return (open) => sealedLine(chain, open);
}

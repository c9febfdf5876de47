/** Sinks that fail: a full disk, a reader that does not read, a collector that stalls, a crash within a line. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { AuditSettings, AuditSink } from '../model/index.ts';
import { createMetrics, type Fields, type Logger } from '../telemetry/index.ts';
import { until } from '../until.testing.ts';
import { Audit } from './audit.ts';
import { SinkError } from './auditSink.ts';
import type { AuditWriterOptions } from './auditWriter.ts';
import type { AuditedEnd, AuditedOperation } from './lines.ts';
import { LiveOperation } from './liveOperation.ts';
import { FileSink } from './fileSink.ts';
import { HttpSink } from './httpSink.ts';
import { verifyFiles, type Verification } from './verify.ts';

const key = Buffer.from('s'.repeat(40));

class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'portcullis-sinks-'));
  readonly file = join(this.folder, 'audit.jsonl');
  readonly said: string[] = [];
  readonly fields: { readonly message: string; readonly lines?: unknown; readonly waiting?: unknown }[] = [];
  readonly metrics = createMetrics({ process: false });
  private readonly log: Logger;

  constructor(t: TestContext) {
    writeFileSync(join(this.folder, 'key'), key);
    const write = (message: string, fields?: Fields): void => {
      this.said.push(message);
      this.fields.push({ ...fields, message });
    };
    this.log = { debug: write, info: write, warn: write, error: write, child: () => this.log };
    t.after(() => rmSync(this.folder, { recursive: true }));
  }

  settings(): AuditSettings {
    return {
      sink: { kind: 'file', path: this.file },
      include: ['calls'],
      arguments: 'shape',
      redact: [],
      chain: { keyFile: join(this.folder, 'key'), checkpointEveryMs: 1_000 },
      required: false,
    };
  }

  /** @param intentMs a required call waits so long for its intent */
  open(
    settings: Partial<AuditSettings> & { readonly sink?: AuditSink } = {},
    intentMs = 30_000,
    pace: AuditWriterOptions['pace'] = {},
  ): Audit {
    return new Audit({
      settings: { ...this.settings(), ...settings },
      writer: 'server',
      log: this.log,
      metrics: this.metrics,
      pace: { retryMs: 5, intentMs, closeMs: 2_000, ...pace },
    });
  }

  async lost(): Promise<number> {
    return Number(/^portcullis_audit_lost_total (\d+)/m.exec(await this.metrics.expose())?.[1]);
  }

  verify(files: readonly string[] = [this.file], partial = false): Promise<Verification> {
    return verifyFiles({ files, key, checkpoints: [], partial });
  }
}

const call = (name = 'echo') => ({
  time: Date.now(),
  operation: 'tools/call',
  caller: {},
  details: { name },
});
class Call extends LiveOperation {
  override readonly isLight: boolean;
  isRead = false;
  private readonly name: string | undefined;
  constructor(name?: string, isLight = true) {
    super();
    this.name = name;
    this.isLight = isLight;
  }
  protected override readBeginning = (): AuditedOperation => {
    this.isRead = true;
    if (this.name === 'unreadable') throw new Error('no name');
    return call(this.name);
  };
  protected override readEnd = (): AuditedEnd => ({ outcome: 'ok' });
}
const begin = (audit: Audit, name?: string, isLight = true): Call => {
  const operation = new Call(name, isLight);
  audit.begin(operation);
  return operation;
};
const record = (audit: Audit, times: number, name?: string): void => {
  for (let i = 0; i < times; i++) audit.record(call(name), { outcome: 'ok' });
};

/** A collector over HTTP, as a sink. */
async function collectorThat(t: TestContext, answers: RequestListener) {
  const collector = createServer(answers);
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  t.after(() => {
    collector.closeAllConnections();
    collector.close();
  });
  const { port } = collector.address() as AddressInfo;
  return { kind: 'http', url: `http://127.0.0.1:${port}/`, timeoutMs: 60_000 } satisfies AuditSink;
}

/** A collector that appends the lines to a file, and answers 413 for larger requests. */
async function limitedCollector(t: TestContext, file: string, most: number) {
  const sizes: number[] = [];
  const refusals: number[] = [];
  const sink = await collectorThat(t, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts);
      if (body.length <= most) {
        sizes.push(body.length);
        appendFileSync(file, body);
      } else refusals.push(body.length);
      response.writeHead(body.length <= most ? 204 : 413).end();
    });
  });
  return { sink, sizes, refusals };
}

const mayMount = (): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

describe('sinks that fail', () => {
  test(
    'lines wait for room on a full disk, and required calls are refused meanwhile',
    { skip: !mayMount() && 'mount is not permitted' },
    async (t) => {
      const stage = new Stage(t);
      const disk = mkdtempSync(join(tmpdir(), 'portcullis-disk-'));
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
      t.after(() => {
        execFileSync('umount', [disk]);
        rmSync(disk, { recursive: true });
      });
      const path = join(disk, 'audit.jsonl');
      const audit = stage.open({ sink: { kind: 'file', path }, required: true });
      const first = begin(audit);
      await audit.settled;
      audit.end(first);
      writeFileSync(join(disk, 'filler'), Buffer.alloc(56 * 1_024));
      let refused: unknown;
      for (let i = 0; i < 200 && refused === undefined; i++) {
        try {
          const open = begin(audit, 'x'.repeat(400));
          await audit.settled;
          audit.end(open);
        } catch (error) {
          refused = error;
        }
      }
      assert.equal((refused as { code?: string } | undefined)?.code, 'audit_unavailable');
      assert.ok(stage.said.includes('Audit sink failed'));
      rmSync(join(disk, 'filler'));
      await until('the sink works again', () => stage.said.includes('Audit sink works again'));
      const last = begin(audit, 'after');
      await audit.settled;
      audit.end(last);
      await audit.close();
      const found = await stage.verify([path]);
      assert.deepEqual([found.problems, found.gaps, found.unfinished], [[], [], 0]);
      assert.equal(await stage.lost(), 0);
    },
  );

  test('the log repeats that a sink fails, with the lines that wait, and says how many are lost at the end', async (t) => {
    const stage = new Stage(t);
    const sink = await collectorThat(t, (_request, response) => void response.writeHead(503).end());
    const audit = stage.open({ sink }, 30_000, { reportMs: 1, closeMs: 50 });
    const failures = (): unknown[] =>
      stage.fields.filter(({ message }) => message === 'Audit sink failed').map(({ waiting }) => waiting);
    await until('two messages', () => failures().length >= 2);
    record(audit, 3);
    // The first line of the chain waits, too.
    await until('all lines wait', () => failures().at(-1) === 4);
    await audit.close();
    assert.deepEqual(
      stage.fields.filter(({ message }) => message.startsWith('Audit lines lost')),
      [{ message: 'Audit lines lost: the sink takes no lines, and the gateway stops', lines: 5 }],
    );
    assert.equal(await stage.lost(), 5);
  });

  test('a pipe whose reader does not read costs lines beyond the memory for them, and the stream names the gap', async (t) => {
    const stage = new Stage(t);
    const path = join(stage.folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const audit = stage.open({ sink: { kind: 'file', path } });
    record(audit, 30_000, 'n'.repeat(100));
    await until('a refused write', () => stage.said.includes('Audit sink failed'));
    assert.ok((await stage.lost()) > 0 && stage.said.some((line) => line.startsWith('Audit lines lost')));
    const pieces: Buffer[] = [];
    const piece = Buffer.alloc(65_536);
    const read = (): void => {
      for (;;) {
        let length = 0;
        try {
          length = readSync(reader, piece, 0, piece.length, null);
        } catch {
          return;
        }
        if (length === 0) return;
        pieces.push(Buffer.from(piece.subarray(0, length)));
      }
    };
    record(audit, 1, 'late');
    await until('all lines are read', async () => {
      read();
      const written = Number(/^portcullis_audit_lines_total (\d+)/m.exec(await stage.metrics.expose())?.[1]);
      return written >= 30_000 - (await stage.lost());
    });
    record(audit, 1, 'after');
    const closed = audit.close();
    await until('the stream has ended', () => {
      read();
      return Buffer.concat(pieces.slice(-2)).includes('audit.stop');
    });
    await closed;
    closeSync(reader);
    writeFileSync(stage.file, Buffer.concat(pieces));
    const found = await stage.verify();
    assert.deepEqual(found.problems, []);
    assert.deepEqual(
      found.gaps.map(({ kind, lost: named }) => [kind, named]),
      [['lost', await stage.lost()]],
    );
  });

  test('operations wait for their lines unless they hold much, or the sink fails', async (t) => {
    const stage = new Stage(t);
    const sink = await collectorThat(t, (_request, response) => response.writeHead(503).end());
    const audit = stage.open({ sink });
    const [light, heavy, last] = [begin(audit, 'a'), begin(audit, 'b', false), begin(audit, 'c')];
    audit.end(light);
    assert.ok(!light.isRead);
    audit.end(heavy);
    assert.ok(light.isRead && heavy.isRead, 'lines keep their order');
    await until('a refused write', () => stage.said.includes('Audit sink failed'));
    audit.end(last);
    assert.ok(last.isRead);
    await audit.close();
  });

  test('an operation that cannot be read costs its own line, and the stream names the gap', async (t) => {
    const stage = new Stage(t);
    const audit = stage.open();
    for (const name of ['before', 'unreadable', 'after']) audit.end(begin(audit, name));
    await audit.close();
    assert.deepEqual(
      stage.said.filter((line) => line.startsWith('Audit lines lost')),
      ['Audit lines lost: a line cannot be made: no name'],
    );
    const found = await stage.verify();
    assert.deepEqual(found.problems, []);
    assert.deepEqual(
      found.gaps.map(({ kind, lost }) => [kind, lost]),
      [['lost', 1]],
    );
    const names = readFileSync(stage.file, 'utf8').matchAll(/"mcp\.name":"(\w+)"/g);
    assert.deepEqual(
      [...names].map(([, name]) => name),
      ['before', 'after'],
    );
  });

  test('lines that wait are stored when the process exits without notice', async (t) => {
    const stage = new Stage(t);
    const program = `
      import { Audit } from ${JSON.stringify(import.meta.resolve('./audit.ts'))};
      import { createLogger, createMetrics } from ${JSON.stringify(import.meta.resolve('../telemetry/index.ts'))};
      const settings = ${JSON.stringify(stage.settings())};
      const log = createLogger({ level: 'error', format: 'text' });
      const audit = new Audit({ settings, writer: 'server', log, metrics: createMetrics({ process: false }) });
      for (const operation of ['prompts/get', 'tools/call'])
        audit.record({ time: Date.now(), operation, caller: {} }, { outcome: 'ok' });
      process.exit(0);
    `;
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' });
    const operations = readFileSync(stage.file, 'utf8').matchAll(/"api\.operation":"([^"]+)"/g);
    assert.deepEqual(
      [...operations].map(([, operation]) => operation),
      ['audit.start', 'prompts/get', 'tools/call'],
    );
    assert.deepEqual((await stage.verify()).problems, []);
  });

  test('a collector that stalls does not hold required calls for ever', async (t) => {
    const stage = new Stage(t);
    const sink = await collectorThat(t, () => undefined);
    const audit = stage.open({ sink, required: true }, 50);
    const open = begin(audit);
    await assert.rejects(async () => await audit.settled, { code: 'audit_unavailable' });
    audit.end(open, { outcome: 'refused' });
    await audit.close();
    assert.ok((await stage.lost()) > 0, 'lines that the collector never took are counted');
  });

  test('batches grow again after a spell in which the collector answered 413 to everything', async (t) => {
    let isBroken = true;
    const posts: number[] = [];
    const settings = await collectorThat(t, (request, response) => {
      posts.push(Number(request.headers['content-length']));
      request.resume().on('end', () => response.writeHead(isBroken ? 413 : 204).end());
    });
    const sink = new HttpSink(settings);
    const batch = Buffer.from(`${'x'.repeat(1_023)}\n`.repeat(256));
    await assert.rejects(sink.write(batch), SinkError);
    isBroken = false;
    const counts: number[] = [];
    for (let round = 0; round < 7; round++) {
      posts.length = 0;
      await sink.write(batch);
      counts.push(posts.length);
    }
    assert.deepEqual(counts, [32, 16, 8, 4, 2, 1, 1]);
    await sink.close();
  });

  test('a collector that refuses large batches gets smaller ones', async (t) => {
    const stage = new Stage(t);
    const { sink, sizes, refusals } = await limitedCollector(t, stage.file, 20_000);
    const audit = stage.open({ sink });
    record(audit, 200);
    await until('lines are stored', () => sizes.length > 1);
    record(audit, 200, 'later');
    const before = refusals.length;
    await audit.close();
    assert.ok(before > 0);
    assert.equal(refusals.length, before, 'the sink remembers the size');
    const found = await stage.verify();
    assert.deepEqual([found.problems, found.gaps, found.lines], [[], [], 402]);
    assert.equal(await stage.lost(), 0);
  });

  test('a line that its collector refuses by itself costs only that line, and the stream names it', async (t) => {
    const stage = new Stage(t);
    const { sink } = await limitedCollector(t, stage.file, 900);
    const audit = stage.open({ sink });
    // Texts keep 512 characters.
    for (const name of ['before', 'x'.repeat(500), 'behind']) record(audit, 1, name);
    await until('the loss', () => stage.said.some((line) => line.startsWith('Audit lines lost')));
    record(audit, 1, 'later');
    await audit.close();
    assert.ok(!stage.said.includes('Audit sink failed'));
    assert.equal(await stage.lost(), 1);
    assert.match(
      stage.said.find((line) => line.startsWith('Audit lines lost')) ?? '',
      /^Audit lines lost: line 3 of the chain: the sink refuses \d+ bytes as too large \(.+ answered 413\)$/,
    );
    const text = readFileSync(stage.file, 'utf8');
    const names = [...text.matchAll(/"mcp\.name":"(\w+)"/g)].map(([, name]) => name);
    assert.deepEqual(names, ['before', 'behind', 'later']);
    assert.match(text, /"audit\.lost_lines":1,"audit\.lost_seqs":"3"/);
    const found = await stage.verify();
    assert.deepEqual(
      found.problems.map(({ message }) => message.replace(/epoch \w+/, 'epoch')),
      ['line 3 of server epoch missing'],
    );
    assert.deepEqual(
      found.gaps.map(({ kind, lost }) => [kind, lost]),
      [['lost', 1]],
    );
  });

  test('a required call whose intent the collector refuses by itself is refused, and the next one passes', async (t) => {
    const stage = new Stage(t);
    const { sink } = await limitedCollector(t, stage.file, 900);
    const audit = stage.open({ sink, required: true });
    const large = begin(audit, 'x'.repeat(500));
    await assert.rejects(async () => await audit.settled, { code: 'audit_unavailable' });
    audit.end(large, { outcome: 'refused' });
    await until('the loss of both lines', async () => (await stage.lost()) === 2);
    const next = begin(audit, 'next');
    await audit.settled;
    audit.end(next);
    await audit.close();
    assert.match(readFileSync(stage.file, 'utf8'), /"mcp\.name":"next"/);
  });

  test('a file that ends within a line gets the next line on a line of its own', async (t) => {
    const stage = new Stage(t);
    const before = stage.open();
    record(before, 3);
    await before.close();
    appendFileSync(stage.file, '{"time":17000000');
    const after = stage.open();
    record(after, 2);
    await after.close();
    const found = await stage.verify();
    assert.deepEqual([found.problems, found.gaps, found.pieces.length], [[], [], 1]);
    const [, second] = found.epochs;
    assert.equal(second?.previous?.epoch, found.epochs[0]?.epoch);
  });

  test('rotation renames a large file and keeps the newest ones', async (t) => {
    const stage = new Stage(t);
    const sink = new FileSink({
      path: stage.file,
      rotation: { maxBytes: 100, keep: 2 },
      durable: true,
      lookEveryMs: 0,
    });
    for (let i = 0; i < 10; i++) await sink.write(Buffer.from(`${'x'.repeat(99)}\n`), true);
    await sink.close();
    const files = readdirSync(stage.folder).filter((name) => name.startsWith('audit.jsonl'));
    assert.equal(files.length, 3);
    assert.equal(statSync(stage.file).mode & 0o777, 0o600);
    assert.equal(readFileSync(stage.file, 'utf8').length, 100);
  });

  test('a stream without its key, its folder or its file does not open', (t) => {
    const stage = new Stage(t);
    const chain = { keyFile: join(stage.folder, 'none'), checkpointEveryMs: 1_000 };
    assert.throws(() => stage.open({ chain }), /config\.audit\.chain\.key: .*no such file/);
    writeFileSync(chain.keyFile, 'short');
    assert.throws(() => stage.open({ chain }), /expected at least 32 bytes, got 5/);
    const path = join(stage.folder, 'missing', 'audit.jsonl');
    assert.throws(() => stage.open({ sink: { kind: 'file', path } }), /config\.audit\.sink\.file: .*ENOENT/);
    assert.throws(
      () => stage.open({ sink: { kind: 'file', path: '/dev/full' }, required: true }),
      /needs a regular file/,
    );
  });
});

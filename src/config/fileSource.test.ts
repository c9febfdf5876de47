import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { FileSource } from './fileSource.ts';
import { loadText } from './load.ts';
import { loadElsewhere } from './loadElsewhere.ts';
import { renderProblem } from './problem.ts';

const configuration = (port: number): string => `binds: [{port: ${port}, listeners: [{routes: []}]}]\n`;

/** A source whose events are waited for one by one: the port of a new model, or the problems. */
class Followed {
  readonly source: FileSource;
  readonly #events: string[] = [];
  #waiting: ((event: string) => void) | undefined;

  /** Milliseconds of the clock that files settle by. */
  #now = 0;

  constructor(t: TestContext, file: string, pollMs = 3_600_000) {
    this.source = new FileSource({
      file,
      env: {},
      settleMs: 5,
      pollMs,
      now: () => this.#now,
      onModel: (model) => this.#emit(`port ${model.binds[0]?.port ?? 'none'}`),
      onProblems: (problems) => this.#emit(problems.map(renderProblem).join('\n')),
    });
    t.after(() => this.source.close());
  }

  next(): Promise<string> {
    const event = this.#events.shift();
    if (event !== undefined) return Promise.resolve(event);
    return new Promise((resolve) => {
      // The watching holds no process open, so that the test has to.
      const hold = setInterval(() => undefined, 60_000);
      this.#waiting = (text) => {
        clearInterval(hold);
        resolve(text);
      };
    });
  }

  /** Looks at the files, and counts the turns of the event loop until the model is there. */
  async turnsUntil(event: string): Promise<number> {
    let turns = 0;
    let over = false;
    const count = (): void => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    this.source.look();
    count();
    assert.equal(await this.next(), event);
    over = true;
    return turns;
  }

  /** Models that came so far and were not waited for. */
  get events(): readonly string[] {
    return this.#events;
  }

  /** Looks at the files, lets so much time pass, and looks again. */
  pass(ms: number): void {
    this.source.look();
    this.#now += ms;
    this.source.look();
  }

  #emit(event: string): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#events.push(event);
    else waiting(event);
  }
}

/** Lets everything happen that is due. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => void setImmediate(resolve));
}

const manyRoutes = (count: number): string => {
  const route = (i: number): string =>
    `{name: r${i}, matches: [{path: {pathPrefix: /r${i}}}], backends: [{host: 'a:1'}]}`;
  return `binds:\n- port: 3009\n  listeners:\n  - routes:\n${Array.from({ length: count }, (_, i) => `    - ${route(i)}\n`).join('')}`;
};

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-source-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('a file that is written to, replaced, removed and created again is followed', async (t) => {
  const directory = folder(t);
  const file = join(directory, 'config.yaml');
  writeFileSync(file, configuration(3001));
  const followed = new Followed(t, file);
  const first = followed.source.start();
  assert.ok(first.ok);
  assert.equal(first.model.binds[0]?.port, 3001);

  writeFileSync(file, configuration(3002));
  followed.pass(2_000);
  assert.equal(await followed.next(), 'port 3002');

  for (const port of [3003, 3004]) {
    writeFileSync(`${file}.new`, configuration(port));
    renameSync(`${file}.new`, file);
    assert.equal(await followed.next(), `port ${port}`);
  }

  unlinkSync(file);
  assert.equal(await followed.next(), `${file}: there is no such file`);
  writeFileSync(file, configuration(3005));
  followed.pass(2_000);
  assert.equal(await followed.next(), 'port 3005');
});

test('an invalid change reports its problems and the repair is a change again', async (t) => {
  const file = join(folder(t), 'config.yaml');
  writeFileSync(file, configuration(3001));
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  writeFileSync(file, 'binds: 5\n');
  followed.pass(2_000);
  assert.equal(await followed.next(), `${file}:1:8: binds: expected a list, got a whole number`);
  writeFileSync(file, configuration(3001));
  followed.pass(2_000);
  assert.equal(await followed.next(), 'port 3001');
});

test('a file that is written in place is taken when it was left alone for two seconds, never half', async (t) => {
  const file = join(folder(t), 'config.yaml');
  writeFileSync(file, configuration(3001));
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  const whole = configuration(3003);
  // The first part is valid by itself, as a route is before its policies are written.
  writeFileSync(file, configuration(3002));
  followed.pass(1_999);
  appendFileSync(file, '# more comes\n');
  followed.pass(1_999);
  await turns();
  assert.deepEqual(followed.events, []);
  writeFileSync(file, whole);
  followed.pass(2_000);
  assert.equal(await followed.next(), 'port 3003');
});

test('a file that is removed and written anew is not taken half either', async (t) => {
  const file = join(folder(t), 'config.yaml');
  writeFileSync(file, configuration(3001));
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  unlinkSync(file);
  followed.source.look();
  assert.equal(await followed.next(), `${file}: there is no such file`);
  writeFileSync(file, configuration(3002));
  followed.pass(1_999);
  await turns();
  assert.deepEqual(followed.events, []);
  followed.pass(2_000);
  assert.equal(await followed.next(), 'port 3002');
});

test('a reload that would close every port is refused, unless it says so', async (t) => {
  const file = join(folder(t), 'config.yaml');
  writeFileSync(file, configuration(3001));
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  const replace = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
    followed.source.look();
  };
  replace('config: {}\n');
  assert.match(await followed.next(), /has no binds any more.*`binds: \[\]`/);
  replace('gateways: {}\n');
  assert.match(await followed.next(), /has no binds any more/);
  replace('binds: []\n');
  assert.equal(await followed.next(), 'port none');
});

test('a large file is read on another thread while this one goes on', async (t) => {
  const file = join(folder(t), 'config.yaml');
  writeFileSync(file, configuration(3001));
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  writeFileSync(`${file}.new`, manyRoutes(9_000));
  renameSync(`${file}.new`, file);
  const turnsSeen = await followed.turnsUntil('port 3009');
  // The routes alone come in 36 portions; on one thread there is no turn at all.
  assert.ok(turnsSeen > 36, `${turnsSeen} turns of the event loop`);
});

test('a large API description is read on another thread while this one goes on', async (t) => {
  const directory = folder(t);
  const description = join(directory, 'openapi.json');
  const describe = (title: string): void => {
    const info = { title, description: 'x'.repeat(100_000) };
    writeFileSync(
      `${description}.new`,
      JSON.stringify({ openapi: '3.1.0', info, paths: { '/a': { get: {} } } }),
    );
    renameSync(`${description}.new`, description);
  };
  describe('one');
  const file = join(directory, 'config.yaml');
  const schema = `{file: ${JSON.stringify(description)}}`;
  writeFileSync(file, `mcp: {port: 3011, targets: [{name: t, openapi: {host: 'a:1', schema: ${schema}}}]}\n`);
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  describe('two');
  const turnsSeen = await followed.turnsUntil('port 3011');
  // On one thread there is no turn at all.
  assert.ok(turnsSeen > 10, `${turnsSeen} turns of the event loop`);
});

test('a large file gives the same model on another thread, and shared routes stay shared', async () => {
  const text = `${manyRoutes(300)}gateways: {default: {port: 3010, listeners: [{name: a, hostname: a.test}, {name: b, hostname: b.test}]}}
routes: [{name: both, backends: [{host: 'a:1'}]}]\n`;
  const here = loadText(text, { file: 'x', env: {} });
  const there = await loadElsewhere(text, { file: 'x', env: {} }, new AbortController().signal);
  assert.deepEqual(there, here);
  assert.ok(there.ok);
  const [a, b] = there.model.binds[1]?.listeners ?? [];
  assert.ok(a !== undefined && b !== undefined && 'routes' in a && 'routes' in b);
  assert.equal(a.routes[0], b.routes[0]);
  const refused = await loadElsewhere('binds: 5', { file: 'x', env: {} }, new AbortController().signal);
  assert.deepEqual(refused, loadText('binds: 5', { file: 'x', env: {} }));
  await assert.rejects(loadElsewhere(text, { file: 'x', env: {} }, AbortSignal.abort()));
});

test('a mounted ConfigMap is followed when its link is turned', async (t) => {
  const directory = folder(t);
  const version = (name: string, port: number): void => {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'config.yaml'), configuration(port));
  };
  version('..1', 3001);
  symlinkSync('..1', join(directory, '..data'));
  symlinkSync(join('..data', 'config.yaml'), join(directory, 'config.yaml'));
  const followed = new Followed(t, join(directory, 'config.yaml'));
  assert.ok(followed.source.start().ok);
  for (const number of [2, 3]) {
    version(`..${number}`, 3000 + number);
    symlinkSync(`..${number}`, join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
    rmSync(join(directory, `..${number - 1}`), { recursive: true });
    assert.equal(await followed.next(), `port ${3000 + number}`);
  }
});

test('a file that the configuration names is followed too', async (t) => {
  const directory = folder(t);
  const keys = join(directory, 'keys', 'jwks.json');
  mkdirSync(join(directory, 'keys'));
  writeFileSync(keys, '{"keys":[]}');
  const file = join(directory, 'config.yaml');
  const policies = `{jwtAuth: {mode: strict, issuer: i, jwks: {file: ${JSON.stringify(keys)}}}}`;
  const route = `{policies: ${policies}, backends: [{host: 'a:1'}]}`;
  writeFileSync(file, `binds: [{port: 3001, listeners: [{routes: [${route}]}]}]\n`);
  const followed = new Followed(t, file);
  const first = followed.source.start();
  assert.ok(first.ok, first.ok ? '' : first.problems.map(renderProblem).join('\n'));
  assert.deepEqual(first.files, [keys]);
  writeFileSync(`${keys}.new`, '{"keys": []}');
  renameSync(`${keys}.new`, keys);
  assert.equal(await followed.next(), 'port 3001');
});

test('an invalid configuration is read again when a file that it names is repaired', async (t) => {
  const directory = folder(t);
  const api = join(directory, 'api.yaml');
  const file = join(directory, 'config.yaml');
  writeFileSync(file, 'binds: [{port: 3001, listeners: [{routes: []}]}]\n');
  const followed = new Followed(t, file);
  assert.ok(followed.source.start().ok);
  writeFileSync(
    `${file}.new`,
    `mcp: {port: 3002, targets: [{name: a, openapi: {host: 'https://a', schema: {file: ${api}}}}]}\n`,
  );
  renameSync(`${file}.new`, file);
  assert.match(await followed.next(), /api\.yaml/);
  writeFileSync(`${api}.new`, 'openapi: 3.1.0\npaths: {/a: {get: {operationId: b}}}\n');
  renameSync(`${api}.new`, api);
  followed.pass(2_100);
  assert.equal(await followed.next(), 'port 3002');
});

test('a file to which a description of an API refers is followed too', async (t) => {
  const directory = realpathSync(folder(t));
  const [file, main, shared] = ['config.yaml', 'main.yaml', 'shared.yaml'].map((name) =>
    join(directory, name),
  );
  writeFileSync(main!, 'openapi: 3.1.0\npaths: {/a: {$ref: shared.yaml}}\n');
  writeFileSync(shared!, 'get: {operationId: before}\n');
  writeFileSync(
    file!,
    `mcp: {port: 3001, targets: [{name: a, openapi: {host: 'https://a', schema: {file: ${main}}, references: [${directory}]}}]}\n`,
  );
  const followed = new Followed(t, file!);
  const first = followed.source.start();
  assert.ok(first.ok, first.ok ? '' : first.problems.map(renderProblem).join('\n'));
  assert.deepEqual(first.files, [main, shared]);
  writeFileSync(`${shared}.new`, 'get: {operationId: after}\n');
  renameSync(`${shared}.new`, shared!);
  assert.equal(await followed.next(), 'port 3001');
});

test('polling finds changes of a file when the system reports none', async (t) => {
  const directory = folder(t);
  const file = join(directory, 'later', 'config.yaml');
  const followed = new Followed(t, file, 5);
  const first = followed.source.start();
  assert.deepEqual(first, { ok: false, problems: [{ file, path: '', message: 'there is no such file' }] });
  // The directory did not exist when watching began, so that only polling can see the file in it.
  mkdirSync(join(directory, 'made'));
  writeFileSync(join(directory, 'made', 'config.yaml'), configuration(3001));
  renameSync(join(directory, 'made'), join(directory, 'later'));
  followed.pass(2_000);
  assert.equal(await followed.next(), 'port 3001');
});

test('a model that its taker cannot take is reported and does not end the process', async (t) => {
  const file = join(folder(t), 'config.yaml');
  writeFileSync(file, configuration(3001));
  const problem = new Promise<string>((resolve) => {
    const source = new FileSource({
      file,
      env: {},
      settleMs: 5,
      onModel: () => {
        throw new Error('port taken');
      },
      onProblems: (problems) => {
        resolve(problems.map(renderProblem).join('\n'));
      },
    });
    t.after(() => source.close());
    source.start();
  });
  writeFileSync(`${file}.new`, configuration(3002));
  renameSync(`${file}.new`, file);
  const hold = setInterval(() => undefined, 60_000);
  t.after(() => clearInterval(hold));
  assert.equal(await problem, `${file}: cannot be applied: port taken`);
});

/**
 * The import directions of src/ (ARCHITECTURE.md, "Rooms"). A room sees only the rooms of its row, only through their
 * index.ts, and no file takes part in an import cycle. Imports of types count like all others.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  circles,
  fileImportsOf,
  importsOf,
  isTest,
  roomOf,
  source,
  type Import,
  type Tree,
} from './support/imports.ts';

interface Row {
  /** Rooms whose values and types it may use. */
  readonly uses: readonly string[];
  /** Rooms of which it may use types only. */
  readonly types?: readonly string[];
  /** Single files of other rooms that are open to it besides their index. */
  readonly files?: readonly string[];
}

const rows: Readonly<Record<string, Row>> = {
  model: { uses: [] },
  http: { uses: [] },
  telemetry: { uses: [] },
  regex: { uses: [] },
  cel: { uses: ['regex'] },
  files: { uses: [] },
  schema: { uses: ['model', 'regex'] },
  auth: { uses: ['http', 'telemetry', 'files'] },
  upstream: { uses: ['model', 'http', 'telemetry', 'files'] },
  store: { uses: ['model', 'telemetry', 'files', 'upstream'] },
  pins: { uses: ['store'] },
  audit: { uses: ['model', 'telemetry', 'files'] },
  tracing: { uses: ['model', 'telemetry'] },
  mcp: { uses: ['model', 'http', 'upstream', 'telemetry', 'files', 'schema', 'store', 'pins'] },
  policies: {
    uses: ['model', 'http', 'auth', 'cel', 'telemetry', 'files', 'schema', 'store'],
    types: ['mcp'],
  },
  proxy: { uses: ['model', 'http', 'regex', 'telemetry', 'upstream', 'audit', 'tracing', 'mcp', 'policies'] },
  config: {
    uses: ['model', 'regex', 'files', 'schema'],
    files: ['mcp/targets/facts.ts', 'policies/facts.ts'],
  },
  stream: { uses: ['model', 'telemetry', 'files'] },
  controller: {
    uses: ['model', 'regex', 'telemetry', 'files', 'schema', 'config', 'stream'],
    files: ['mcp/targets/facts.ts', 'policies/facts.ts'],
  },
  clients: { uses: [] },
  login: { uses: ['schema', 'auth'], types: ['admin'] },
  workers: {
    uses: ['model', 'auth', 'audit', 'tracing', 'mcp', 'policies', 'proxy', 'telemetry', 'store', 'pins'],
    files: ['policies/localRateLimit/localTokens.ts'],
  },
  admin: { uses: ['model', 'http', 'telemetry'], types: ['proxy'] },
  gateway: {
    uses: ['model', 'telemetry', 'audit', 'login', 'workers', 'mcp'],
    types: ['admin', 'config', 'stream'],
  },
};
/** What the table calls those files. */
const openFiles: Readonly<Record<string, string>> = {
  'mcp/targets/facts.ts': 'the facts of MCP targets',
  'policies/facts.ts': 'the facts of policies',
  'policies/localRateLimit/localTokens.ts': 'the buckets of policies',
};
/** May use every room that is not reserved: the files that put a process together, and the command line. */
const unbound = new Set(['cli', 'main.ts', 'controllerMain.ts']);
/** Open to one user only, so that a process that serves traffic loads nothing of the controller. */
const reservedFor: Readonly<Record<string, string>> = {
  controller: 'controllerMain.ts',
  'controllerMain.ts': 'cli',
};
const openToAll = new Set([
  'errors.ts',
  'errorText.ts',
  'gatheredBytes.ts',
  'ownCopy.ts',
  'version.ts',
  'within.ts',
]);
/** The one file of a room that the command line may use: explaining a configuration runs no policy and no target. */
const onlyFileForCli: Readonly<Record<string, string>> = {
  mcp: 'mcp/targets/facts.ts',
  policies: 'policies/facts.ts',
};

/** Why `path` may not import `target` (both relative to src/); undefined when it may. */
const refusal = (path: string, target: string, typeOnly: boolean): string | undefined => {
  if (target.startsWith('../')) return 'lies outside src/';
  if (isTest(path)) return undefined;
  if (isTest(target)) return 'is for tests only';
  const [from, to] = [roomOf(path), roomOf(target)];
  if (from === to || openToAll.has(target)) return undefined;
  if (openToAll.has(path)) return `${path} imports nothing`;
  const user = reservedFor[to];
  if (user !== undefined && user !== from) return `only ${user} may import ${to}`;
  const row = rows[from];
  if (row === undefined && !unbound.has(from)) return `${from} is no room: add a row`;
  if (row?.files?.includes(target) === true) return undefined;
  const only = from === 'cli' ? onlyFileForCli[to] : undefined;
  if (only !== undefined) return target === only ? undefined : `of ${to}, cli may import ${only} only`;
  const mayUse = row === undefined || row.uses.includes(to);
  const mayUseTypes = mayUse || row.types?.includes(to) === true;
  if (!mayUseTypes) return `${from} may not import ${to}`;
  if (!mayUse && !typeOnly) return `${from} may import types of ${to} only`;
  // A file right in src/ (main.ts) is all of its own surface.
  if (target === `${to}/index.ts` || target === to) return undefined;
  if (target === `${to}/contract.ts` && typeOnly) return undefined;
  return `only ${to}/index.ts is open to other rooms`;
};

/** The offences of a tree. */
const offences = (tree: Tree): string[] =>
  [...tree.keys()].flatMap((path) =>
    fileImportsOf(tree, path).flatMap(({ target, typeOnly }) => {
      const why = refusal(path, target, typeOnly);
      return why === undefined ? [] : [`${path} imports ${target}: ${why}`];
    }),
  );

/** The import cycles of files; imports of types count like all others. */
const cycles = (tree: Tree): string[] =>
  circles(tree.keys(), (path) => fileImportsOf(tree, path).map(({ target }) => target));

/** Every file that a file imports, directly or through others, by the imports that `follows` selects. */
const reach = (tree: Tree, start: string, follows: (found: Import) => boolean): ReadonlySet<string> => {
  const reached = new Set([start]);
  for (const path of reached)
    for (const found of fileImportsOf(tree, path)) if (follows(found)) reached.add(found.target);
  return reached;
};

const isController = (path: string): boolean => roomOf(path) === 'controller' || path === 'controllerMain.ts';

test('the source was found', () => {
  assert.ok(source.size > 10);
  assert.ok([...source.values()].some((text) => importsOf(text).length > 0));
});

test('every room keeps to its row', () => {
  assert.deepEqual(offences(source), []);
});

test('only the room of regular expressions uses the library for them: there each has its limits', () => {
  const users = [...source].filter(([path, text]) => !isTest(path) && /from 're2js'/.test(text));
  assert.deepEqual([...new Set(users.map(([path]) => roomOf(path)))], ['regex']);
});

test('no import goes in a circle', () => {
  assert.deepEqual(cycles(source), []);
});

test('a process that serves traffic loads nothing of the controller', () => {
  for (const start of ['main.ts', 'workers/workerProgram.ts', 'workers/tokens/tokenProgram.ts']) {
    assert.ok(source.has(start), start);
    assert.deepEqual([...reach(source, start, () => true)].filter(isController), [], start);
  }
  assert.ok(reach(source, 'main.ts', () => true).has('proxy/snapshot/live.ts'));
});

test('the facts of MCP targets load no run-time code', () => {
  const loaded = reach(source, 'mcp/targets/facts.ts', ({ typeOnly }) => !typeOnly);
  assert.deepEqual([...new Set(Array.from(loaded, roomOf))].toSorted(), [
    'errorText.ts',
    'files',
    'gatheredBytes.ts',
    'mcp',
    'model',
    'regex',
    'schema',
  ]);
  const outside = [...loaded].filter((path) => roomOf(path) === 'mcp' && !path.startsWith('mcp/targets/'));
  assert.deepEqual(outside, []);
  assert.deepEqual(
    [...loaded].filter((path) => /^mcp\/targets\/(?:\w+\/)?index\.ts$/.test(path)),
    [],
  );
});

test('the help of a command loads no other room than the model', () => {
  const atStart = ({ typeOnly, lazy }: Import): boolean => !typeOnly && !lazy;
  const light = new Set(['cli', 'model', 'errorText.ts', 'gatheredBytes.ts', 'version.ts']);
  const commands = fileImportsOf(source, 'cli/index.ts').filter(({ lazy }) => lazy);
  const files = commands.map(({ target }) => target).filter((target) => roomOf(target) === 'cli');
  assert.ok(files.length > 10);
  for (const file of ['cli/index.ts', ...files]) {
    const heavy = [...reach(source, file, atStart)].filter((path) => !light.has(roomOf(path)));
    assert.deepEqual(heavy, [], file);
  }
});

test('the command line loads the controller only for its command', () => {
  const atStart = reach(source, 'cli/index.ts', ({ typeOnly, lazy }) => !typeOnly && !lazy);
  assert.deepEqual([...atStart].filter(isController), []);
  const ever = reach(source, 'cli/index.ts', ({ typeOnly }) => !typeOnly);
  assert.ok(ever.has('controller/index.ts'));
});

test('the table of ARCHITECTURE.md says the same', () => {
  const page = readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8');
  const written = Object.fromEntries(
    Array.from(page.matchAll(/^\| `(\w+)` +\|[^|]*\| ([^|]*?) +\|$/gm), ([, room = '', cell = '']) => [
      room,
      cell,
    ]),
  );
  const cellOf = ({ uses, types, files }: Row): string =>
    [
      uses.join(', ') || '–',
      types === undefined ? '' : `types of ${types.join(', ')}`,
      ...(files ?? []).map((file) => openFiles[file] ?? file),
    ]
      .filter((part) => part !== '')
      .join('; ');
  const expected = Object.entries(rows).map(([room, row]) => [room, cellOf(row)]);
  assert.deepEqual(written, { ...Object.fromEntries(expected), cli: 'any but controller' });
});

const offence = (path: string, text: string): string[] => offences(new Map([[path, text]]));

test('a good import passes', () => {
  const good: readonly (readonly [string, string])[] = [
    ['proxy/live.ts', "import { pool } from '../upstream/index.ts';"],
    ['proxy/live.ts', "import {\n  a,\n  b,\n} from './parts/a.ts';"],
    ['policies/cors/index.ts', "import type { McpItem } from '../../mcp/contract.ts';"],
    ['config/load.ts', "import { schemas } from '../policies/facts.ts';"],
    ['config/load.ts', "import { fileFields } from '../mcp/targets/facts.ts';"],
    ['model/model.ts', "import { catalogue } from '../errors.ts';"],
    ['http/head.test.ts', "import { run } from '../proxy/inner.ts';"],
    ['main.ts', "export { start } from './proxy/index.ts';"],
    ['cli/run.ts', "import { startGateway } from '../main.ts';"],
    ['cli/controller.ts', "const { start } = await import('../controllerMain.ts');"],
    ['controllerMain.ts', "import { KubeApi } from './controller/index.ts';"],
    ['http/head.ts', "import { Buffer } from 'node:buffer';"],
  ];
  for (const [path, text] of good) assert.deepEqual(offence(path, text), []);
});

test('a bad import is caught, in every way of writing it', () => {
  const bad: readonly (readonly [string, string, RegExp])[] = [
    ['model/model.ts', "import { x } from '../http/index.ts';", /model may not import http/],
    ['config/state.ts', "import { live } from '../proxy/index.ts';", /config may not import proxy/],
    ['proxy/live.ts', "import '../config/index.ts';", /proxy may not import config/],
    ['stream/server.ts', "import { KubeApi } from '../controller/index.ts';", /only controllerMain.ts may/],
    ['proxy/live.ts', "const a = await import('../auth/index.ts');", /proxy may not import auth/],
    ['proxy/live.ts', "export * from '../cel/index.ts';", /proxy may not import cel/],
    ['proxy/live.ts', "import {\n  a,\n  type B,\n} from '../admin/index.ts';", /proxy may not import admin/],
    ['proxy/live.ts', "import { pool } from '../upstream/pool.ts';", /only upstream\/index.ts is open/],
    ['proxy/live.ts', "import { x } from '../mcp/contract.ts';", /only mcp\/index.ts is open/],
    ['policies/jwt.ts', "import { serve } from '../mcp/index.ts';", /types of mcp only/],
    ['http/head.ts', "import { fake } from './exchange.testing.ts';", /for tests only/],
    ['http/head.ts', "import { echo } from '../../apps/echo/src/index.ts';", /outside src/],
    ['proxy/live.ts', "import { startGateway } from '../main.ts';", /proxy may not import main.ts/],
    ['errors.ts', "import { x } from './http/index.ts';", /errors.ts imports nothing/],
    ['cli/explain.ts', "import { policyTable } from '../policies/index.ts';", /facts.ts only/],
    ['cli/explain.ts', "import { McpRuntime } from '../mcp/index.ts';", /facts.ts only/],
    ['config/load.ts', "import { connect } from '../mcp/targets/index.ts';", /config may not import mcp/],
    ['cli/controller.ts', "import { KubeApi } from '../controller/index.ts';", /only controllerMain.ts may/],
    ['main.ts', "import { KubeApi } from './controller/index.ts';", /only controllerMain.ts may/],
    ['main.ts', "import type { Translation } from './controller/index.ts';", /only controllerMain.ts may/],
    ['main.ts', "import { startController } from './controllerMain.ts';", /only cli may/],
    ['attic/x.ts', "import { x } from '../http/index.ts';", /no room/],
  ];
  for (const [path, text, why] of bad) {
    const found = offence(path, text);
    assert.equal(found.length, 1, text);
    assert.match(found[0] ?? '', why);
  }
});

test('an import is found through other files, of every kind', () => {
  const chain = new Map([
    ['main.ts', "import type { A } from './gateway/index.ts';"],
    ['gateway/index.ts', "const b = await import('../controllerMain.ts');"],
  ]);
  assert.ok(reach(chain, 'main.ts', () => true).has('controllerMain.ts'));
  assert.deepEqual([...reach(chain, 'main.ts', ({ typeOnly }) => !typeOnly)], ['main.ts']);
});

test('a circle is caught', () => {
  const circle = new Map([
    ['http/a.ts', "import { b } from './b.ts';"],
    ['http/b.ts', "import './c.ts';"],
    ['http/c.ts', "export { a } from './a.ts';"],
  ]);
  assert.deepEqual(cycles(circle), ['http/a.ts → http/b.ts → http/c.ts → http/a.ts']);
  const ofTypes = new Map(circle).set('http/c.ts', "import type { A } from './a.ts';");
  assert.deepEqual(cycles(ofTypes), cycles(circle));
});

/**
 * The subfolders of the rooms of src/ (ARCHITECTURE.md, "Subfolders"). In `proxy` and `mcp` a subfolder imports only the
 * subfolders of its row; in every other room subfolders form no circle. Imports of types count like all others.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { test } from 'node:test';
import { circles, fileImportsOf, isTest, roomOf, source, type Tree } from './support/imports.ts';

/** Subfolder → the subfolders of the same room that it may import; '' stands for the files of the room itself. */
type Rows = Readonly<Record<string, readonly string[]>>;

const rows: Readonly<Record<string, Rows>> = {
  proxy: {
    load: [],
    stats: [],
    connections: ['load'],
    routing: ['stats'],
    exchange: ['stats', 'connections', 'routing'],
    forward: ['stats', 'routing', 'exchange'],
    streams: ['stats', 'connections', 'routing', 'forward'],
    snapshot: ['stats', 'routing', 'exchange', 'forward', 'streams'],
    trial: ['stats', 'connections', 'exchange', 'snapshot'],
    http1: ['stats', 'connections', 'exchange'],
    http2: ['load', 'connections', 'exchange', 'http1'],
    ports: ['load', 'stats', 'connections', 'routing', 'exchange', 'streams', 'snapshot', 'http1', 'http2'],
    relay: ['stats', 'connections', 'exchange', 'http1', 'ports'],
    '': ['load', 'stats', 'connections', 'exchange', 'snapshot', 'trial', 'ports', 'relay'],
  },
  mcp: {
    json: [],
    limits: [],
    messages: ['json', 'limits'],
    items: ['json', 'messages'],
    'targets/kind': ['json', 'limits', 'messages'],
    'targets/conversation': ['json', 'limits', 'messages', 'targets/kind'],
    'targets/stdio': ['json', 'limits', 'messages', 'targets/kind', 'targets/conversation'],
    'targets/http': ['messages', 'targets/kind', 'targets/conversation'],
    'targets/sse': ['messages', 'targets/kind', 'targets/conversation'],
    'targets/description': [],
    'targets/openapi': [
      'json',
      'limits',
      'messages',
      'targets/kind',
      'targets/conversation',
      'targets/description',
    ],
    'targets/modern': ['json', 'limits', 'messages', 'targets/kind', 'targets/conversation'],
    targets: [
      'targets/kind',
      'targets/stdio',
      'targets/http',
      'targets/sse',
      'targets/openapi',
      'targets/modern',
    ],
    replicas: [],
    session: ['json', 'limits', 'replicas', 'messages', 'items', 'targets/kind', 'targets'],
    federation: ['json', 'limits', 'messages', 'items', 'targets/kind', 'targets', 'session'],
    modern: ['json', 'messages', 'items', 'targets/kind', 'session', 'federation'],
    serve: [
      'json',
      'limits',
      'messages',
      'items',
      'targets/kind',
      'targets/conversation',
      'targets',
      'session',
      'federation',
      'modern',
    ],
    '': [
      'limits',
      'messages',
      'targets/kind',
      'targets/conversation',
      'targets',
      'session',
      'federation',
      'modern',
      'serve',
    ],
  },
};

/** The rooms that a request passes: a file name alone tells where in them a line stands. */
const dataPlane = new Set(['http', 'upstream', 'mcp', 'proxy']);
/** The names that stand for the same thing in every folder. */
const sharedNames = new Set(['index.ts', 'contract.ts', 'facts.ts']);

/** The folder of a file inside its room; '' for a file of the room itself. */
const subfolderOf = (path: string): string => dirname(path).split('/').slice(1).join('/');

interface Edge {
  readonly path: string;
  readonly target: string;
  readonly from: string;
  readonly to: string;
}

/** The imports of a room that lead from one subfolder to another. Its `contract.ts` is open to all of them. */
const edges = (tree: Tree, room: string): Edge[] =>
  [...tree.keys()]
    .filter((path) => path.startsWith(`${room}/`) && !isTest(path))
    .flatMap((path) => fileImportsOf(tree, path).map(({ target }) => ({ path, target })))
    .filter(({ target }) => roomOf(target) === room && target !== `${room}/contract.ts`)
    .map(({ path, target }) => ({ path, target, from: subfolderOf(path), to: subfolderOf(target) }))
    .filter(({ from, to }) => from !== to);

const offences = (tree: Tree, room: string, allowed: Rows): string[] =>
  edges(tree, room)
    .filter(({ from, to }) => allowed[from]?.includes(to) !== true)
    .map(({ path, target }) => `${path} imports ${target}`);

const rooms = [...new Set([...source.keys()].filter((path) => path.includes('/')).map(roomOf))];

/** The circles of the subfolders of a room; its own files belong to none of them. */
const subfolderCircles = (tree: Tree, room: string): string[] => {
  const between = edges(tree, room).filter(({ from, to }) => from !== '' && to !== '');
  const next = (folder: string): string[] =>
    between.filter(({ from }) => from === folder).map(({ to }) => to);
  return circles(new Set(between.map(({ from }) => from)), next);
};

for (const [room, allowed] of Object.entries(rows)) {
  test(`every subfolder of ${room} keeps to its row`, () => {
    assert.deepEqual(offences(source, room, allowed), []);
  });

  test(`the rows of ${room} name every subfolder, and nothing that no file imports`, () => {
    const used = edges(source, room);
    const folders = new Set([...source.keys()].filter((path) => roomOf(path) === room && !isTest(path)));
    assert.deepEqual(Object.keys(allowed).toSorted(), [...new Set([...folders].map(subfolderOf))].toSorted());
    for (const [from, uses] of Object.entries(allowed))
      for (const to of uses)
        assert.ok(
          used.some((edge) => edge.from === from && edge.to === to),
          `${from} imports nothing of ${to}: remove it from its row`,
        );
  });

  test(`the rows of ${room} have no circle`, () => {
    assert.deepEqual(
      circles(Object.keys(allowed), (folder) => allowed[folder] ?? []),
      [],
    );
  });
}

test('the subfolders of no room form a circle', () => {
  assert.ok(rooms.length > 10);
  for (const room of rooms) assert.deepEqual(subfolderCircles(source, room), [], room);
});

test('no two files of the data plane share a name', () => {
  const byName = Map.groupBy(
    [...source.keys()].filter((path) => dataPlane.has(roomOf(path))),
    (path) => basename(path),
  );
  const shared = [...byName].filter(([name, paths]) => paths.length > 1 && !sharedNames.has(name));
  assert.deepEqual(shared, []);
});

test('the tables of ARCHITECTURE.md say the same', () => {
  const page = readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8');
  const written = Array.from(
    page.matchAll(/^\| `(\w+\/[\w/]*)` +\|[^|]*\| ([^|]*?) +\|$/gm),
    ([, folder = '', cell = '']) => [folder, cell],
  );
  const expected = Object.entries(rows).flatMap(([room, allowed]) =>
    Object.entries(allowed).map(([folder, uses]) => [`${room}/${folder}`, uses.join(', ') || '–']),
  );
  assert.deepEqual(written, expected);
});

test('an import against the rows is caught, of types too, and a circle of subfolders', () => {
  const tree = new Map([
    ['cel/index.ts', "import { b } from './b/b.ts';"],
    ['cel/contract.ts', ''],
    ['cel/a/a.ts', "import type { B } from '../b/b.ts';\nimport type { C } from '../contract.ts';"],
    ['cel/b/b.ts', "import { limits } from '../limits.ts';"],
    ['cel/limits.ts', ''],
  ]);
  const allowed = { '': ['b'], a: [], b: [''] };
  assert.deepEqual(offences(tree, 'cel', allowed), ['cel/a/a.ts imports cel/b/b.ts']);
  assert.deepEqual(subfolderCircles(tree, 'cel'), []);
  const circle = new Map(tree).set('cel/b/b.ts', "import type { A } from '../a/a.ts';");
  assert.deepEqual(subfolderCircles(circle, 'cel'), ['a → b → a']);
});

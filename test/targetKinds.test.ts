/**
 * The tables of MCP targets (`mcp/targets/facts.ts`, `mcp/targets/index.ts`) are the only places that know the kinds:
 * code elsewhere asks a row, so a new kind needs no edits there.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { clusterFieldNames, fileFieldNames } from '../src/mcp/targets/facts.ts';

const home = 'src/mcp/targets/';
const model = 'src/model/model.ts';

/** The folders of the kinds, which have the names of the kinds. */
const kinds = globSync(`${home}*/facts.ts`).map((file) => file.slice(home.length).split('/')[0] ?? '');

/** The types of the model for one kind each, by the name of the kind. */
const [, rows = ''] = /export interface McpTargets \{\n(.*?)\n\}/s.exec(readFileSync(model, 'utf8')) ?? [];
const types = new Map(
  Array.from(rows.matchAll(/readonly (\w+): (\w+);/g), ([, kind = '', type = '']) => [kind, type]),
);

/** Names that kinds share with other parts of a configuration: backends, Services, hosts and labels. */
const shared = new Set(['http', 'mcp', 'service', 'host', 'selector']);
const own = [...new Set([...kinds, ...fileFieldNames, ...clusterFieldNames])].filter(
  (name) => !shared.has(name),
);

const anyKind = `['"\`](?:${kinds.join('|')})['"\`]`;
const anyOwn = `(?:${own.join('|')})`;
const copies: readonly (readonly [what: string, form: RegExp])[] = [
  ['an import from the folder of a kind', new RegExp(`/targets/(?:${kinds.join('|')})/`)],
  ['a comparison with a kind', new RegExp(`(?<!\\bbackend\\.)\\bkind\\s*[!=]==?\\s*${anyKind}`)],
  ['a case for a kind', new RegExp(`\\bcase\\s+${anyKind}`)],
  ['a name of a kind', new RegExp(`['"\`]${anyOwn}['"\`]`)],
  ['a member of a kind', new RegExp(`\\.${anyOwn}\\b(?!\\[)`)],
  ['a member of a kind', new RegExp(`[{,]\\s*${anyOwn}\\s*[,}]`)],
  ['the type of a kind', new RegExp(`\\b(?:${[...types.values()].join('|')})\\b`)],
];

/** The reason why a text knows a kind by its name; undefined where it does not. */
function knowledgeIn(text: string): string | undefined {
  for (const [what, form] of copies) {
    const found = form.exec(text);
    if (found !== null) return `${what}: ${found[0]}`;
  }
  return undefined;
}

/** Comments explain kinds by their names. */
const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');

const sources = globSync(['src/**/*.ts', 'scripts/**/*.ts'])
  .filter((file) => !file.startsWith(home) && file !== model && !/\.(?:test|testing)\.ts$/.test(file))
  .filter((file) => !file.startsWith('src/mcp/fixtures/'))
  // `init` and `import` write configurations, and choose kinds as a person does.
  .filter((file) => !file.startsWith('src/cli/setup/'))
  .map((file) => ({ file, text: withoutComments(readFileSync(file, 'utf8')) }));

test('every kind of the model has a folder', () => {
  assert.deepEqual([...types.keys()].toSorted(), kinds.toSorted());
  assert.ok(own.length > 0);
});

test('no file outside the folder of targets knows a kind by its name', () => {
  assert.ok(sources.length > 100);
  for (const { file, text } of sources) assert.equal(knowledgeIn(text), undefined, file);
});

test('knowledge of a kind is caught, in every way of writing it', () => {
  for (const text of [
    `import { StdioConnection } from './targets/stdio/stdioConnection.ts';`,
    `if (target.kind === 'http') return target.tls;`,
    `targets.some(({ kind }) => kind !== 'stdio')`,
    `return target?.kind === "http" ? target : undefined;`,
    `case 'http':`,
    `const children = ['stdio'];`,
    `if (spec.stdio !== undefined) return;`,
    `const { name, stdio, mcp } = settings;`,
    `function start(target: StdioTarget): void {`,
  ])
    assert.ok(knowledgeIn(text) !== undefined, text);
  for (const text of [
    `if (backend.kind === 'http') return backend.tls;`,
    `if (isOverNetwork(target)) return target.tls;`,
    `spawn(command, { stdio: ['ignore', 'pipe', 'pipe'] });`,
    `const pipe = child.stdio[4];`,
  ])
    assert.equal(knowledgeIn(text), undefined, text);
});

/** Every block of YAML in the documents is what the program accepts. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { loadText, renderProblem } from '../src/config/index.ts';
import { policyNames } from '../src/policies/facts.ts';
import { blocksIn, pagesWithBlocks, type Block } from './support/blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

type Tree = Readonly<Record<string, unknown>>;

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const indented = (text: string, by: number): string => text.replaceAll(/^(?=.)/gm, ' '.repeat(by));

const target = 'targets: [{ name: x, mcp: { host: https://x.example.com/mcp } }]';

/** Makes a whole configuration of a part, by the fields that the part begins with. */
const wholes: readonly (readonly [fields: readonly string[], whole: (part: string) => string])[] = [
  [['config', 'binds', 'gateways', 'routes', 'mcp', 'frontendPolicies', 'backends'], (part) => part],
  [['targets'], (part) => `mcp:\n  port: 3000\n${indented(part, 2)}`],
  [['view'], (part) => `mcp:\n  port: 3000\n  ${target}\n${indented(part, 2)}`],
  [['stdio', 'callTimeout'], (part) => `mcp:\n  targets:\n  - name: x\n${indented(part, 4)}`],
  [
    ['include', 'exclude'],
    (part) =>
      `mcp:\n  targets:\n  - name: x\n    openapi:\n      host: https://x.example.com\n      schema: { url: https://x.example.com/openapi.json }\n${indented(part, 6)}`,
  ],
  [
    ['matches', 'policies'],
    (part) =>
      `binds:\n- port: 3000\n  listeners:\n  - routes:\n    - backends: [{ host: 'x:1' }]\n${indented(part, 6)}`,
  ],
  [Object.keys(policyNames), (part) => `mcp:\n  port: 3000\n  ${target}\n  policies:\n${indented(part, 4)}`],
];

/** A whole configuration with the block; undefined for a block that is no part of one. */
function wholeOf(block: Block): string | undefined {
  const tree: unknown = parse(block.text);
  if (Array.isArray(tree))
    return `binds:\n- port: 3000\n  listeners:\n  - routes:\n${indented(block.text, 4)}`;
  if (!isTree(tree)) return undefined;
  const [first = ''] = Object.keys(tree);
  return wholes.find(([fields]) => fields.includes(first))?.[1](block.text);
}

/** Values for the variables that a block names, of a form that every field takes. */
const environmentOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(text.matchAll(/\$\{?([A-Z][A-Z0-9_]*)/g), ([, name = '']) => [name, 'ab'.repeat(32)]),
  );

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: object };
    }[];
  };
}

/** A schema that refuses unknown fields, which the API server would drop. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (!isTree(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  const closed =
    isTree(schema['properties']) &&
    !('additionalProperties' in schema) &&
    !('x-kubernetes-preserve-unknown-fields' in schema);
  return closed && schema['type'] === 'object' ? { ...inner, additionalProperties: false } : inner;
}

const ajv = new Ajv({ strict: false, formats: { int32: true, int64: true, 'date-time': true } });
const kinds = new Map(
  globSync('deploy/chart/crds/*.yaml', { cwd: root }).flatMap((file) =>
    parseAllDocuments(readFileSync(`${root}${file}`, 'utf8')).map((document) => {
      const { spec } = document.toJS() as Definition;
      return [
        spec.names.kind,
        ajv.compile(strict(spec.versions[0]?.schema.openAPIV3Schema) as object),
      ] as const;
    }),
  ),
);

const samples = globSync('deploy/samples/*.yaml', { cwd: root }).flatMap((file) =>
  parseAllDocuments(readFileSync(`${root}${file}`, 'utf8')).map((document) => document.toJS() as unknown),
);

/** Whether a value has all that a part of it has. */
const contains = (value: unknown, part: unknown): boolean => {
  try {
    assert.partialDeepStrictEqual(value, part);
    return true;
  } catch {
    return false;
  }
};

/** The problems of Kubernetes objects. Objects of other projects have only to be YAML. */
const objectProblems = (text: string): readonly string[] =>
  parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as { kind?: string; apiVersion?: string };
    if (document.errors.length > 0) return document.errors.map(String);
    if (!object.apiVersion?.startsWith('portcullis.dev/')) return [];
    const valid = kinds.get(object.kind ?? '');
    if (valid === undefined) return [`no kind ${object.kind ?? ''}`];
    return valid(object)
      ? []
      : (valid.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`);
  });

/** An McpBackend with these settings. */
const objectOf = (spec: Tree): object => ({
  apiVersion: 'portcullis.dev/v1alpha1',
  kind: 'McpBackend',
  metadata: { name: 'x' },
  spec,
});

/** The reasons why a block is wrong; undefined for a block that nothing here can check. */
function problemsOf(block: Block): readonly string[] | undefined {
  // A line for editors.
  if (block.text.replaceAll(/^#.*$/gm, '').trim() === '') return [];
  const [document] = parseAllDocuments(block.text);
  if (document === undefined || document.errors.length > 0) return [String(document?.errors[0])];
  const tree: unknown = document.toJS();
  if (isTree(tree) && 'apiVersion' in tree) return objectProblems(block.text);
  // The guides show parts of the samples.
  if (isTree(tree) && Object.keys(tree)[0] === 'spec')
    return samples.some((sample) => contains(sample, tree)) ? [] : ['no object of deploy/samples has it'];
  // Targets of a cluster have other fields than those of a file.
  if (isTree(tree) && 'targets' in tree && kinds.get('McpBackend')?.(objectOf(tree)) === true) return [];
  const whole = wholeOf(block);
  if (whole === undefined) return undefined;
  const loaded = loadText(whole, { file: block.page, env: environmentOf(whole) });
  return loaded.ok ? [] : loaded.problems.map(renderProblem);
}

const blocks = pagesWithBlocks()
  .flatMap((page) => blocksIn(page))
  .filter(({ language }) => language === 'yaml' || language === 'yml');

test('every block of YAML in the documents is valid, or says why no test checks it', () => {
  assert.ok(blocks.length > 80);
  const found = blocks
    .filter(({ unchecked }) => unchecked === undefined)
    .flatMap((block) => {
      const problems = problemsOf(block) ?? ['no test can check it: say why in its first line'];
      return problems.map((problem) => `${block.page}:${String(block.line)}: ${problem}`);
    });
  assert.deepEqual(found, []);
});

test('blocks with a wrong field, kind or part of a sample are found', () => {
  const wrong = [
    'mcp: { port: 3000, targets: [] }',
    'targets: [{ name: x, stdi: { cmd: x } }]',
    'jwtAuth: { issuers: x }',
    '- matchs: []',
    'apiVersion: portcullis.dev/v1alpha1\nkind: McpBackend\nmetadata: { name: x }\nspec: { targets: 1 }',
    'spec: { nothing: true }',
  ];
  for (const text of wrong)
    assert.ok((problemsOf({ page: 'x', line: 1, language: 'yaml', label: '', text })?.length ?? 0) > 0, text);
  assert.equal(problemsOf({ page: 'x', line: 1, language: 'yaml', label: '', text: 'other: 1' }), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState, Text } from '@codemirror/state';
// The words of the gateway itself: the admin API sends them to the page.
import { expressionWords } from '../../../src/policies/index.ts';
import type { ExpressionWords } from '../api/types.ts';
import { cel, celCompletion } from './celLanguage.ts';
import { diagnosticOf } from './celLint.ts';
import { wordsAt } from './celWords.ts';
import { knownMembers } from './knownMembers.ts';

const all = JSON.parse(JSON.stringify(expressionWords())) as ExpressionWords;
const known = knownMembers(
  '{"sub": "ada", "odd-name": 1, "groups": []}',
  'POST /mcp HTTP/1.1\n\n{"method": "tools/call", "params": {"name": "read", "arguments": {"path": "/"}}}',
);
const labels = (before: string): string[] => wordsAt(before, all, known).words.map(({ label }) => label);

test('a word that stands alone is a variable with its type, a function or a macro', () => {
  const { from, words } = wordsAt('true && mcp', all, known);
  assert.equal(from, 8);
  const detail = (name: string) => words.find(({ label }) => label === name)?.detail;
  assert.equal(detail('mcp.tool.name'), 'string');
  assert.equal(detail('jwt'), 'map');
  assert.equal(detail('has'), '(value.member) -> bool');
  assert.equal(detail('coalesce'), '(a, …)');
  assert.equal(detail('math.abs'), '(double) -> double');
  assert.equal(detail('startsWith'), undefined, 'a method needs a value');
  assert.equal(detail('response'), undefined, 'the gateway does not offer it here');
});

test('after a dot stand the members of the variable, and the methods of its type', () => {
  const request = labels('request.');
  for (const name of ['method', 'path', 'headers']) assert.ok(request.includes(name), name);
  assert.ok(!request.includes('body'), 'bodies are not read');
  assert.ok(!request.includes('request.method') && !request.includes('startsWith'));
  assert.deepEqual(
    labels('mcp.tool.na').filter((label) => ['name', 'target', 'arguments', 'result'].includes(label)),
    ['name', 'target', 'arguments'],
  );
  const text = labels('has(mcp.tool) && mcp.tool.name.');
  assert.ok(text.includes('startsWith') && !text.includes('exists'));
  assert.ok(labels('"a".').includes('startsWith') && !labels('"a".').includes('exists'));
  const some = labels('jwt.groups.');
  assert.ok(some.includes('exists') && some.includes('startsWith'), 'only the run knows the type of a claim');
  assert.deepEqual(labels('jwt.groups.exists(g, g.').toSorted(), labels('x().request.').toSorted());
  assert.ok(labels('math.').includes('abs') && !labels('math.').includes('trim'));
});

test('claims and arguments on the page are members, if a name can stand after a dot', () => {
  assert.deepEqual(labels('jwt.').slice(0, 2), ['sub', 'groups']);
  assert.deepEqual(labels('auth.claims.').slice(0, 2), ['sub', 'groups']);
  assert.equal(labels('mcp.tool.arguments.')[0], 'path');
  assert.deepEqual(knownMembers('{"sub', 'GET / HTTP/1.1'), {
    jwt: [],
    'auth.claims': [],
    'mcp.tool.arguments': [],
  });
});

test('completion asks for nothing inside of texts, comments and numbers', async () => {
  const complete = celCompletion(all, known);
  const offered = async (doc: string, explicit = false): Promise<number> => {
    const state = EditorState.create({ doc, extensions: cel(all, known) });
    const found = await complete(new CompletionContext(state, doc.length, explicit));
    return found?.options.length ?? 0;
  };
  assert.ok((await offered('jw')) > 0);
  assert.ok((await offered('jwt.')) > 0);
  assert.ok((await offered('', true)) > 0);
  assert.equal(await offered(''), 0);
  assert.equal(await offered('"jwt.'), 0);
  assert.equal(await offered('true // jwt.'), 0);
  assert.equal(await offered('1.'), 0);
});

test('a mistake is marked from its place to the end of the word', () => {
  const doc = Text.of(['true &&', '  jwtt.sub']);
  const marked = (line: number, column: number) => {
    const { from, to } = diagnosticOf(doc, { line, column, message: '' });
    return doc.sliceString(from, to);
  };
  assert.equal(marked(2, 3), 'jwtt');
  assert.equal(marked(1, 6), '&');
  assert.equal(marked(2, 99), '');
  assert.equal(marked(9, 1), '');
});

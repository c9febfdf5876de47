import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { RuleInUse } from '../api/types.ts';
import { ruleEdit } from './ruleEdit.ts';
import { fieldIn } from './yamlScalar.ts';

const text = `# The comment of an operator.
policies:
  "odd name":
    rules:
    - name: first # stays
      allow: jwt.sub == "ada" # stays, too
    - 'jwt.sub == ''bob'''
    - { deny: "a == \\"b\\"", name: flow }
    - require: |
        jwt.sub == "eve" &&
          jwt.level > 1
      name: block
    - &anchor jwt.a == 1
    - *anchor
    - allow: jwt.mail.matches("x$$")
    - requireScopes: [read]
    - if: jwt.x
        == 1
`;
const place = (nth: number): string => `policies["odd name"].rules[${nth}]`;
const clean = { mayEdit: true, isDirty: false };
const rule = (nth: number, expression: string): RuleInUse => ({ place: place(nth), expression }) as RuleInUse;
const edit = (nth: number, before: string, after: string, state = clean, from = text) =>
  ruleEdit(from, { source: 'config.yaml' }, rule(nth, before), after, state);

/** The rule of the edited text, as the gateway would read it. */
function rewritten(nth: number, before: string, after: string): unknown {
  const { text: made = '', handed } = edit(nth, before, after);
  assert.equal(handed.refusal, undefined);
  const { from = 0, to = 0 } = handed.select ?? {};
  assert.deepEqual(
    [made.slice(0, from), made.slice(to)],
    [text.slice(0, from), text.slice(text.length - (made.length - to))],
  );
  return (parse(made) as { policies: Record<string, { rules: unknown[] }> }).policies['odd name']?.rules[nth];
}

test('an expression replaces that of its rule, in the style of the file, and all else stays', () => {
  const name = 'first';
  assert.deepEqual(rewritten(0, 'jwt.sub == "ada"', 'jwt.sub == "bob"'), { name, allow: 'jwt.sub == "bob"' });
  assert.match(edit(0, 'jwt.sub == "ada"', 'x').text ?? '', /allow: 'x' # stays, too/);
  assert.match(edit(0, 'jwt.sub == "ada"', 'jwt.a').text ?? '', /allow: jwt\.a # stays, too/);
  for (const hard of [
    '"a: b" == jwt.a',
    'jwt.a == "x #y"',
    'true',
    "jwt.a == 'it''s'",
    '!has(jwt.a)',
    'jwt.a:',
  ])
    assert.deepEqual(rewritten(0, 'jwt.sub == "ada"', hard), { name, allow: hard });
  assert.equal(rewritten(1, "jwt.sub == 'bob'", "jwt.sub == 'ada'"), "jwt.sub == 'ada'");
  assert.deepEqual(rewritten(2, 'a == "b"', 'a == "]}, c"'), { deny: 'a == "]}, c"', name: 'flow' });
  assert.deepEqual(rewritten(8, 'jwt.x == 1', 'jwt.x == 2'), { if: 'jwt.x == 2' });
});

test('an expression of several lines is a block, or quoted inside of brackets', () => {
  const lines = 'jwt.sub == "eve" &&\n  jwt.level > 2';
  const before = 'jwt.sub == "eve" &&\n  jwt.level > 1\n';
  assert.deepEqual(rewritten(3, before, lines), { require: lines, name: 'block' });
  assert.deepEqual(rewritten(3, before, 'jwt.a'), { require: 'jwt.a', name: 'block' });
  assert.deepEqual(rewritten(0, 'jwt.sub == "ada"', lines), { name: 'first', allow: lines });
  assert.deepEqual(rewritten(1, "jwt.sub == 'bob'", lines), lines);
  assert.deepEqual(rewritten(2, 'a == "b"', lines), { deny: lines, name: 'flow' });
  assert.deepEqual(rewritten(1, "jwt.sub == 'bob'", ` ${lines}`), ` ${lines}`);
});

test('a dollar that the configuration would take for a variable is doubled', () => {
  assert.deepEqual(rewritten(6, 'jwt.mail.matches("x$")', 'jwt.mail.matches("$HOME$")'), {
    allow: 'jwt.mail.matches("$$HOME$")',
  });
});

test('an edit that cannot be made says why, and selects the place if there is one', () => {
  const why = (...given: Parameters<typeof edit>): readonly [string, boolean] => {
    const { handed, text: made } = edit(...given);
    assert.equal(made, undefined);
    assert.equal(handed.expression, given[2]);
    return [handed.refusal ?? '', handed.select !== undefined];
  };
  const ada = 'jwt.sub == "ada"';
  assert.match(why(0, ada, 'x', { mayEdit: false, isDirty: false })[0], /viewer/);
  assert.match(why(0, ada, 'x', { mayEdit: true, isDirty: true })[0], /unsaved edit/);
  assert.match(why(0, 'jwt.sub == "other"', 'x')[0], /another expression/);
  for (const nth of [4, 5, 7]) assert.deepEqual(why(nth, 'jwt.a == 1', 'x')[1], true);
  const [missing, selected] = why(99, 'a', 'x');
  assert.deepEqual([/no field policies/.test(missing), selected], [true, false]);
  assert.match(why(0, ada, 'x', clean, 'a: [')[0], /no field/);
});

test('an expression that nobody changed is selected only', () => {
  const { handed, text: made } = edit(0, 'jwt.sub == "ada"', 'jwt.sub == "ada"');
  assert.equal(made, undefined);
  const { from, to } = handed.select ?? { from: 0, to: 0 };
  assert.deepEqual([text.slice(from, to), handed.refusal], ['jwt.sub == "ada"', undefined]);
  assert.equal(fieldIn('a: 1', 'a.b'), undefined);
});

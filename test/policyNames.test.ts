/** The table of policies (`policies/facts.ts`) is the only list of their names: copies elsewhere once dropped a policy. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { policyNames } from '../src/policies/facts.ts';

const names = Object.keys(policyNames);

/** The program outside the room of policies, with the scripts that write files of it. */
const sources = globSync(['src/**/*.ts', 'scripts/**/*.ts'])
  .filter((file) => !file.startsWith('src/policies/') && !/\.(?:test|testing)\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));

/** Two names of policies in one list, set or union, each between quotes. */
const quoted = `(['"\`])(?:${names.join('|')})\\1`;
const list = new RegExp(`${quoted}\\s*[,|:]\\s*${quoted.replaceAll('\\1', '\\2')}`);
/** A comparison with one. Names of one word, such as `retry`, also name fields of other formats. */
const long = names.filter((name) => /[A-Z]/.test(name)).join('|');
const compared = new RegExp(`\\bname\\s*[!=]==\\s*['"\`](?:${long})['"\`]`);

/** The reason why `text` holds a copy of the table, or a cast around it. */
function copyIn(text: string): string | undefined {
  if (/\bas PolicyName\b/.test(text)) return 'a cast to PolicyName';
  return list.exec(text)?.[0] ?? compared.exec(text)?.[0];
}

/** Fields of HTTPRoute rules in the Gateway API, which are called like policies. */
const gatewayApiFields = new Set(['mcpRule', 'traffic'].map((file) => `src/controller/translate/${file}.ts`));

test('no file outside the room of policies lists their names, compares with one, or casts to one', () => {
  assert.ok(sources.length > 100);
  for (const { file, text } of sources)
    if (!gatewayApiFields.has(file)) assert.equal(copyIn(text), undefined, file);
});

test('a copy of the table is caught, in every way of writing it', () => {
  for (const copy of [
    `const strict = ['jwtAuth', 'basicAuth'];`,
    `type Strict = 'jwtAuth' | 'basicAuth';`,
    `if (use.name === 'jwtAuth') return;`,
    `checked(written as PolicyName)`,
  ])
    assert.ok(copyIn(copy) !== undefined, copy);
  assert.equal(copyIn(`checked(policyNames.jwtAuth, settings)`), undefined);
});

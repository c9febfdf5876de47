/** A requirement without proof fails here, so the list never says more than the tests do. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requirements } from './requirements.ts';
import type { Proof } from './requirements/requirement.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const quoteForms = (name: string): string[] => [
  `'${name.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`,
  `\`${name}\``,
];

/** Is there a test of that name in the text, one that runs? (It may look first whether the machine has what it needs.) */
const defines = (text: string, name: string): boolean =>
  quoteForms(name).some((quoted) => {
    for (let at = text.indexOf(quoted); at >= 0; at = text.indexOf(quoted, at + 1)) {
      const before = text.slice(Math.max(0, at - 60), at);
      const after = text.slice(at + quoted.length, at + quoted.length + 40);
      const isTest = /(?:^|[\s.(])(?:test|it)\(\s*$/.test(before);
      if (isTest && !/^\s*,\s*\{[^}]*\b(?:skip|todo):\s*(?:true|['"`])/.test(after)) return true;
    }
    return false;
  });

const texts = new Map<string, string>();
const read = (file: string): string | undefined => {
  if (!existsSync(root + file)) return undefined;
  const text = texts.get(file) ?? readFileSync(root + file, 'utf8');
  texts.set(file, text);
  return text;
};

/** The reason why a proof does not hold; undefined when it does. */
const flaw = ([file, name, row]: Proof, textOf = read): string | undefined => {
  const text = textOf(file);
  if (text === undefined) return `${file} does not exist`;
  if (!defines(text, name)) return `${file} has no test named "${name}"`;
  const table = `${text}${textOf(file.replace('.test.ts', '.testing.ts')) ?? ''}`;
  if (row === undefined || table.includes(row) || existsSync(join(root, dirname(file), row)))
    return undefined;
  return `${file} has no row or case "${row}"`;
};

test('every requirement has a proof that exists', () => {
  const flaws = requirements.flatMap(({ id, proofs }) =>
    proofs.length === 0
      ? [`${id}: no proof`]
      : proofs.flatMap((proof) => flaw(proof) ?? []).map((why) => `${id}: ${why}`),
  );
  assert.deepEqual(flaws, []);
});

test('each hazard of expressions has a requirement', () => {
  const areas = ['failure', 'claims', 'load', 'request', 'items', 'work'].map((name) => `cel.${name}.`);
  const hazards = requirements.filter(({ id }) => areas.some((area) => id.startsWith(area)));
  // The list may grow. No hazard leaves it.
  assert.ok(hazards.length >= 43, `${String(hazards.length)} hazards have a row`);
});

test('ids are unique and sources are links or documents of ours', () => {
  const ids = requirements.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
  for (const { id, source } of requirements) {
    assert.match(id, /^[a-z0-9]+(?:[.-][a-z0-9]+)+$/);
    if (!source.startsWith('https://'))
      assert.ok(existsSync(root + (source.split('#')[0] ?? '')), `${id}: ${source}`);
  }
});

test('a proof that is missing, skipped or only mentioned is caught', () => {
  const file = (text: string) => () => text;
  assert.equal(flaw(['a.test.ts', "it's so"], file("test('it\\'s so', () => {});")), undefined);
  assert.equal(flaw(['a.test.ts', 'so'], file('await t.test(`so`, () => {});')), undefined);
  assert.match(flaw(['a.test.ts', 'so'], file("// test so\nassert.ok('so');")) ?? '', /no test named/);
  assert.match(flaw(['a.test.ts', 'so'], file("test.skip('so', () => {});")) ?? '', /no test named/);
  assert.match(
    flaw(['a.test.ts', 'so'], file("test('so', { skip: true }, () => {});")) ?? '',
    /no test named/,
  );
  assert.equal(
    flaw(['a.test.ts', 'so ${n}', 'row 1'], file("['row 1'], test(`so ${n}`, () => {});")),
    undefined,
  );
  assert.match(flaw(['a.test.ts', 'so', 'row 2'], file("['row 1'], test('so', () => {});")) ?? '', /no row/);
  assert.match(flaw(['gone.test.ts', 'so']) ?? '', /does not exist/);
});

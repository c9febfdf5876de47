import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { loadText } from './load.ts';
import { renderProblem } from './problem.ts';

/**
 * Each `<case>.in.yaml` is loaded; `<case>.out.json` is the model with its warnings, `<case>.err.txt` the problems.
 * `UPDATE=1 node --test src/config/golden.test.ts` writes the expected side anew: read the diff.
 */
const folder = join(import.meta.dirname, 'testdata');
const env = {
  PORT: '8080',
  NAME: 'world',
  EMPTY: '',
  HOME: '/home/me',
  TOKEN: '12345',
  STRUCTURE: 'a: b\nc: [d',
};

interface Outcome {
  readonly name: string;
  readonly text: string;
}

function outcome(input: string, name: string): Outcome {
  const result = loadText(input, { file: `${name}.in.yaml`, env });
  if (!result.ok)
    return { name: `${name}.err.txt`, text: `${result.problems.map(renderProblem).join('\n')}\n` };
  const { model, warnings, files } = result;
  const shown = { ...model, warnings: warnings.map(renderProblem), files };
  return { name: `${name}.out.json`, text: `${JSON.stringify(shown, null, 2)}\n` };
}

const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.slice(0, -'.in.yaml'.length));

test('there are cases, and every expectation belongs to one', () => {
  assert.ok(cases.length > 0);
  for (const name of readdirSync(folder)) {
    const stem = name.replace(/\.(?:in\.yaml|out\.json|err\.txt)$/, '');
    assert.ok(cases.includes(stem), `${name} has no input`);
  }
});

for (const name of cases) {
  test(`the configuration ${name} gives the expected model or problems`, () => {
    const { name: expectedName, text } = outcome(readFileSync(join(folder, `${name}.in.yaml`), 'utf8'), name);
    if (process.env['UPDATE'] === '1') {
      for (const other of ['.out.json', '.err.txt']) rmSync(join(folder, name + other), { force: true });
      writeFileSync(join(folder, expectedName), text);
    }
    assert.equal(text, readFileSync(join(folder, expectedName), 'utf8'));
  });
}

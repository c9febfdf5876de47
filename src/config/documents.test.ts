import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { loadFile, loadText, type LoadResult } from './load.ts';
import { renderProblem } from './problem.ts';

const root = new URL('../../', import.meta.url);

/** YAML of a page that is a whole configuration, not a part of one. */
function configurations(page: string): string[] {
  const blocks = readFileSync(new URL(page, root), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g);
  return [...blocks]
    .map(([, text = '']) => text)
    .filter((text) => /^(?:binds|gateways|config):|^mcp:\n  port:/.test(text));
}

/** A setting of the machine, which examples leave to their reader. */
const aboutTheMachine = /config\.adminAddr: the child processes of stdio targets can read the admin port/;

const complaints = (result: LoadResult): string[] =>
  (result.ok ? result.warnings : result.problems)
    .map(renderProblem)
    .filter((line) => !aboutTheMachine.test(line));

test('every configuration that the documents show is valid, without a warning', () => {
  for (const page of ['README.md', 'docs/configuration.md']) {
    const found = configurations(page);
    assert.ok(found.length > 0, page);
    for (const text of found) {
      const result = loadText(text, { file: page, env: {} });
      // A part about the process alone serves nothing, and is not meant to.
      const expected = text.startsWith('config:') ? /nothing is served/ : /^$/;
      assert.deepEqual(
        complaints(result).filter((line) => !expected.test(line)),
        [],
        text,
      );
    }
  }
});

test('the configuration of the quickstart is valid, without a warning', () => {
  const result = loadFile(new URL('examples/quickstart/config.yaml', root).pathname, {});
  assert.deepEqual(complaints(result), []);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { loadFile, loadText } from './load.ts';
import { renderProblem } from './problem.ts';

const root = new URL('../../../', import.meta.url);

/** YAML of a page that is a whole configuration, not a part of one. */
function configurations(page: string): string[] {
  const blocks = readFileSync(new URL(page, root), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g);
  return [...blocks]
    .map(([, text = '']) => text)
    .filter((text) => /^(?:binds|gateways|config):|^mcp:\n  port:/.test(text));
}

test('every configuration that the documents show is valid, without a warning', () => {
  for (const page of ['README.md', 'docs/configuration.md']) {
    const found = configurations(page);
    assert.ok(found.length > 0, page);
    for (const text of found) {
      const result = loadText(text, { file: page, env: {} });
      assert.deepEqual((result.ok ? result.warnings : result.problems).map(renderProblem), [], text);
    }
  }
});

test('the configuration of the quickstart is valid, without a warning', () => {
  const result = loadFile(new URL('examples/quickstart/config.yaml', root).pathname, {});
  assert.deepEqual((result.ok ? result.warnings : result.problems).map(renderProblem), []);
});

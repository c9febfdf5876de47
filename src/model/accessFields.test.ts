import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { accessFieldNames } from './accessFields.ts';

const source = new URL('../', import.meta.url).pathname;

test('the table of access log fields has every field that the source code writes', () => {
  const written = globSync('**/*.ts', { cwd: source })
    .filter((path) => !/\.(test|testing)\.ts$/.test(path))
    .flatMap((path) => [...readFileSync(`${source}/${path}`, 'utf8').matchAll(/\.annotate\('([^']+)'/g)])
    .map(([, name = '']) => name);
  assert.ok(written.length > 20, String(written.length));
  const items = ['mcp.tool', 'mcp.prompt', 'mcp.resource'];
  assert.deepEqual([...new Set([...written, ...items])].toSorted(), [...accessFieldNames.noted]);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathAt } from './schemaPath.ts';
import { fieldsAt, valuesAt, type Schema } from './schemaWords.ts';

const text = `# comment
binds:
- port: 3000
  listeners:
  - name: a # comment
    routes:
      - name: "r: 1"

        policies:
          cors: { allowOrigins: ['*'] }
        backends:
          -   - deep: 1
config:
  logging:
    `;

const at = (line: number, column: number): string =>
  pathAt(text.split('\n').slice(0, line), column).join('.');

test('the place of a word follows from the indentation', () => {
  assert.equal(at(2, 0), '');
  assert.equal(at(3, 2), 'binds.[]');
  assert.equal(at(4, 2), 'binds.[]');
  assert.equal(at(5, 4), 'binds.[].listeners.[]');
  assert.equal(at(6, 4), 'binds.[].listeners.[]');
  assert.equal(at(7, 8), 'binds.[].listeners.[].routes.[]');
  assert.equal(at(9, 8), 'binds.[].listeners.[].routes.[]');
  assert.equal(at(10, 10), 'binds.[].listeners.[].routes.[].policies');
  assert.equal(at(12, 16), 'binds.[].listeners.[].routes.[].backends.[].[]');
  assert.equal(at(13, 0), '');
  assert.equal(at(15, 4), 'config.logging');
});

const schema = JSON.parse(
  readFileSync(new URL('../../../schema/portcullis.schema.json', import.meta.url), 'utf8'),
) as Schema;

test('the schema of the configuration names the fields and values of a place', () => {
  const fields = (path: string): string[] =>
    fieldsAt(schema, path === '' ? [] : path.split('.')).map(({ label }) => label);
  assert.ok(fields('').includes('binds'));
  assert.ok(fields('binds.[].listeners.[].routes.[]').includes('policies'));
  assert.ok(fields('binds.[].listeners.[].routes.[].policies').includes('mcpAuthorization'));
  assert.deepEqual(fields('binds.[].nothing'), []);
  const values = valuesAt(schema, ['config', 'logging', 'accessLog']).map(({ label }) => label);
  assert.ok(values.includes('none'), values.join(' '));
});

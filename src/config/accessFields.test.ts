import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from './load.ts';

const load = (document: object) =>
  loadText(JSON.stringify({ ...document, binds: [] }), { file: 'test.yaml', env: {} });

const problemsOf = (document: object): string => {
  const result = load(document);
  return result.ok ? '' : result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
};

test('access log settings of frontendPolicies go before those of config', () => {
  const result = load({
    config: { logging: { filter: 'true', fields: { add: { a: '1', b: '2' }, remove: ['host'] } } },
    frontendPolicies: { logging: { add: { a: '3' }, remove: ['path'] } },
  });
  assert.ok(result.ok);
  assert.deepEqual(result.model.process.accessFields, {
    filter: 'true',
    add: { a: '3', b: '2' },
    remove: ['host', 'path'],
  });
});

test('without changes the model has none', () => {
  const result = load({ config: { logging: { fields: {} } }, frontendPolicies: { accessLog: {} } });
  assert.ok(result.ok);
  assert.equal(result.model.process.accessFields, undefined);
});

test('settings of the access log that cannot work are refused by name', () => {
  const logging = (settings: object): string => problemsOf({ config: { logging: settings } });
  assert.match(logging({ database: {} }), /logging\.database: .*not built/);
  assert.match(logging({ filter: 'request.pth == ""' }), /logging\.filter: .*pth/);
  assert.match(logging({ filter: '1' }), /must come to true or false/);
  assert.match(logging({ fields: { add: { a: 'jwt.rawToken' } } }), /add.*a: .*never see the token/);
  assert.match(logging({ fields: { add: { a: 'mcp.tool.arguments' } } }), /audit stream/);
  assert.match(logging({ fields: { remove: ['http.path'] } }), /http\.path.*|is no field of the access log/);
  assert.match(logging({ fields: { remove: ['status'] } }), /every line has this field/);
  assert.match(problemsOf({ frontendPolicies: { accessLog: { otlp: {} } } }), /otlp: .*not built/);
  assert.match(problemsOf({ frontendPolicies: { accessLog: {}, logging: {} } }), /same field as accessLog/);
});

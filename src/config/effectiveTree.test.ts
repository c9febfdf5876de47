import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectiveTree, type EffectiveField } from './effectiveTree.ts';

const text = `# a comment
config:
  session: { key: '${'ab'.repeat(32)}' }
  logging: { level: $LEVEL }
binds:
- port: 8080
  listeners:
  - routes:
    - policies:
        requestHeaderModifier: { set: { x-team: tools } }
      backends:
      - mcp:
          targets:
          - name: files
            stdio: { cmd: npx, args: [-y, server, --password, literal-1, --key, $TOKEN], env: { API_TOKEN: $TOKEN } }
`;

const treeOf = (env = {}, flags = {}, yaml = text): readonly EffectiveField[] =>
  effectiveTree(yaml, {
    file: '/etc/portcullis/config.yaml',
    env: { LEVEL: 'debug', TOKEN: 'tok-1', ...env },
    flags,
    mark: '[masked]',
    shownArguments: (list) => list.map((word, at) => (list[at - 1] === '--password' ? '[masked]' : word)),
  }) ?? assert.fail();

/** A field by its path, with dots. */
const at = (tree: readonly EffectiveField[], path: string): EffectiveField => {
  const [first, ...rest] = path.split('.');
  const found = tree.find(({ name }) => name === first) ?? assert.fail(`${path}: no ${first}`);
  return rest.length === 0 ? found : at(found.fields ?? [], rest.join('.'));
};

test('fields of the file have their place, and those that the file does not set have their default', () => {
  const tree = treeOf();
  const port = { name: 'port', value: 8080, from: 'file', place: 'config.yaml:6:3' };
  assert.deepEqual(at(tree, 'binds.0.port'), port);
  assert.equal(at(tree, 'binds.0.listeners.0.routes').place, 'config.yaml:8:5');
  assert.deepEqual(at(tree, 'binds.0.listeners.0.protocol'), {
    name: 'protocol',
    value: 'HTTP',
    from: 'default',
  });
  assert.deepEqual(at(tree, 'config.adminAddr'), {
    name: 'adminAddr',
    value: 'localhost:15000',
    from: 'default',
  });
  assert.deepEqual(at(tree, 'config.limits.overload.closeLag').value, '500ms');
  assert.deepEqual(at(tree, 'config.storage.mode').value, 'readOnly');
  assert.deepEqual(at(tree, 'config.dns.lookupFamily').value, 'V4Preferred');
  assert.equal(
    at(tree, 'config').fields?.some(({ name }) => name === 'audit'),
    false,
    'a feature that is off',
  );
});

test('each limit has a default', () => {
  const limits = at(treeOf(), 'config.limits').fields ?? [];
  assert.ok(limits.length > 30, String(limits.length));
  for (const { name, value, fields } of limits)
    if (fields === undefined) assert.match(String(value), /^\d[\w.]*(?: bytes)?$/, name);
});

test('values of variables and flags name them, and secrets are masked by the marks of the schema', () => {
  const tree = treeOf(
    { ADMIN_ADDR: '127.0.0.1:7000', WORKER_THREADS: '2', SESSION_KEY: 'cd'.repeat(32) },
    { ADMIN_ADDR: '--admin-port' },
  );
  const level = { value: 'debug', from: 'variable', by: 'LEVEL', place: 'config.yaml:4:14' };
  assert.deepEqual(at(tree, 'config.logging.level'), { name: 'level', ...level });
  const admin = { value: '127.0.0.1:7000', from: 'flag', by: '--admin-port' };
  assert.deepEqual(at(tree, 'config.adminAddr'), { name: 'adminAddr', ...admin });
  assert.deepEqual(at(tree, 'config.workers').by, 'WORKER_THREADS');
  const key = at(tree, 'config.session.key');
  assert.deepEqual([key.value, key.from, key.place], ['[masked]', 'variable', 'config.yaml:3:14']);

  const stdio = 'binds.0.listeners.0.routes.0.backends.0.mcp.targets.0.stdio';
  const args = at(tree, `${stdio}.args`).fields ?? [];
  assert.deepEqual(
    args.map(({ value }) => value),
    ['-y', 'server', '--password', '[masked]', '--key', '[masked]'],
    'only arguments that name a secret, or come from a variable, are masked',
  );
  const token = at(tree, `${stdio}.env.API_TOKEN`);
  assert.deepEqual([token.value, token.from, token.by], ['[masked]', 'variable', 'TOKEN']);
  const whole = JSON.stringify(tree);
  for (const secret of ['tok-1', 'literal-1', 'abab', 'cdcd']) assert.ok(!whole.includes(secret), secret);
});

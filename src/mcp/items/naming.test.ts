import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, stdioTarget } from '../harness.testing.ts';
import { namingOf, type Naming } from './naming.ts';

const namingOfTargets = (names: readonly string[]): Naming =>
  namingOf(mcpBackend({ targets: names.map((name) => stdioTarget({ name })) }));

test('each target has a label of its own in URIs, in any order of the targets', () => {
  const labels = { 'my-db': 'my-db', My_db: 'my-db-2', '3d': 't-3d', files: 'files' };
  const names = Object.keys(labels);
  for (const order of [names, names.toReversed()]) {
    const naming = namingOfTargets(order);
    for (const [name, label] of Object.entries(labels)) {
      const shown = naming.shownUri(name, 'file:///a');
      assert.equal(shown, `${label}+file:///a`);
      assert.deepEqual(naming.resourceOf(shown), { target: name, name: 'file:///a' });
      const app = naming.shownUri(name, 'ui://page');
      assert.equal(app, `ui://${label}+page`);
      assert.deepEqual(naming.resourceOf(app), { target: name, name: 'ui://page' });
    }
  }
});

test('a label in upper case is the same label, and an unknown one is no target', () => {
  const naming = namingOfTargets(['files', 'my_db']);
  assert.deepEqual(naming.resourceOf('MY-DB+file:///A'), { target: 'my_db', name: 'file:///A' });
  for (const uri of ['other+file:///a', 'file:///a', 'my_db+file:///a'])
    assert.equal(naming.resourceOf(uri), undefined, uri);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog } from '../harness.testing.ts';
import { NameOwners } from './nameOwners.ts';

test('the version of a scope changes with the names in it, and with nothing else', () => {
  const owners = new NameOwners(recordingLog().log, () => undefined);
  assert.equal(owners.versionOf('ada'), 0);
  owners.learn('ada', 'files', 'tool', ['read', 'write']);
  const first = owners.versionOf('ada');
  assert.notEqual(first, 0);
  owners.learn('ada', 'files', 'tool', ['write', 'read']);
  owners.learn('bob', 'files', 'tool', ['read']);
  assert.equal(owners.versionOf('ada'), first);
  owners.learn('ada', 'files', 'tool', ['read']);
  const second = owners.versionOf('ada');
  assert.notEqual(second, first);
  owners.learn('ada', 'files', 'prompt', ['read']);
  assert.notEqual(owners.versionOf('ada'), second);
});

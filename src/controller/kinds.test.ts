import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from './api/object.ts';
import { watchedKinds } from './kinds.ts';

const trimmed = (kind: 'ConfigMap' | 'Secret', data: Record<string, string>, labels = {}): KubeObject => {
  const row = watchedKinds.find(({ resource }) => resource.kind === kind);
  assert.ok(row !== undefined);
  const metadata = { name: 'one', namespace: 'default', uid: '1', resourceVersion: '1', labels };
  return row.trim({ apiVersion: 'v1', kind, metadata, data });
};

const base64 = (bytes: number): string => Buffer.alloc(bytes, 'x').toString('base64');

test('oversized entries of Secrets and ConfigMaps are dropped, and their names kept', () => {
  const secret = trimmed('Secret', {
    'tls.crt': base64(65_537),
    'tls.key': base64(65_536),
    'api-key': base64(8_193),
    '.htpasswd': base64(65_537),
    other: base64(1),
  });
  assert.deepEqual(Object.keys(secret['data'] as object), ['tls.key']);
  assert.deepEqual(secret['tooLarge'], ['tls.crt', 'api-key', '.htpasswd']);

  const map = trimmed('ConfigMap', {
    'ca.crt': 'x'.repeat(65_536),
    'jwks.json': 'ä'.repeat(32_769),
    other: '',
  });
  assert.deepEqual(Object.keys(map['data'] as object), ['ca.crt']);
  assert.deepEqual(map['tooLarge'], ['jwks.json']);

  assert.equal('tooLarge' in trimmed('Secret', { 'tls.crt': base64(65_536) }), false);
});

test('a Secret for programs keeps every entry that is not too large', () => {
  const data = { TOKEN: base64(100), PADDING: base64(65_537) };
  const secret = trimmed('Secret', data, { 'portcullis.dev/use': 'mcp-env' });
  assert.deepEqual(secret['data'], { TOKEN: data.TOKEN });
  assert.deepEqual(secret['tooLarge'], ['PADDING']);
});

test('the controller knows that the key of an audit stream is there, and not the key', () => {
  const secret = trimmed('Secret', { 'chain.key': base64(48), token: base64(9) });
  assert.deepEqual([secret['data'], secret['named']], [{}, ['chain.key']]);
});

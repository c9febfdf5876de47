import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authority } from '../../proxy/certificates.testing.ts';
import type { Secret } from '../types/index.ts';
import { keyPairOf, lastKeyPairOf, noteReplaced } from './pem.ts';

const ca = authority();

const secret = (data: Readonly<Record<string, string>> | undefined, uid = 'u'): Secret =>
  ({
    metadata: { name: 'web', namespace: 'ns', uid },
    ...(data === undefined
      ? {}
      : {
          data: Object.fromEntries(
            Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
          ),
        }),
  }) as Secret;

const sound = (uid = 'u'): [Secret, string] => {
  const { cert, key } = ca.issue({ names: ['a.example.test'] });
  return [secret({ 'tls.crt': cert, 'tls.key': key }, uid), cert];
};

test('the last valid key pair of a broken Secret stays in use', () => {
  const [first, cert] = sound();
  const broken = secret({ 'tls.crt': 'rubbish', 'tls.key': 'rubbish' });
  noteReplaced(first, broken);
  assert.equal(lastKeyPairOf(broken)?.cert, cert);
  const empty = secret({});
  noteReplaced(broken, empty);
  assert.equal(lastKeyPairOf(empty)?.cert, cert);
  const worse = secret({ 'tls.crt': cert, 'tls.key': 'rubbish' });
  noteReplaced(empty, worse);
  assert.equal(lastKeyPairOf(worse)?.cert, cert);
});

test('a key pair that no proxy can load is refused, and the valid one before it stays in use', () => {
  const weak = ca.issue({ names: ['a.example.test'], rsaBits: 1024 });
  const { cert, key } = ca.issue({ names: ['a.example.test'] });
  const cutOff = { cert: `${cert}${ca.cert.slice(0, 200)}`, key };
  for (const [pair, why] of [
    [weak, 'a proxy cannot load it: ee key too small'],
    [cutOff, 'a proxy cannot load it: bad end line'],
  ] as const) {
    const [first, before] = sound();
    const broken = secret({ 'tls.crt': pair.cert, 'tls.key': pair.key });
    noteReplaced(first, broken);
    assert.deepEqual(keyPairOf(broken), { ok: false, why });
    assert.equal(lastKeyPairOf(broken)?.cert, before);
  }
});

test('a repaired or recreated Secret has no previous key pair', () => {
  const [first] = sound();
  const [second] = sound();
  noteReplaced(first, second);
  assert.equal(lastKeyPairOf(second), undefined);
  const other = secret({ 'tls.crt': 'rubbish', 'tls.key': 'rubbish' }, 'another');
  noteReplaced(first, other);
  assert.equal(lastKeyPairOf(other), undefined);
  const never = secret(undefined);
  noteReplaced(secret(undefined), never);
  assert.equal(lastKeyPairOf(never), undefined);
});

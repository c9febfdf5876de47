import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValueRemover } from './valueRemover.ts';

test('a value that begins with another value is removed whole', () => {
  const remover = new ValueRemover({ ACCOUNT: 'alice@example.com', TOKEN: 'alice@example.com:s3cr3t' });
  assert.equal(remover.line('alice@example.com uses alice@example.com:s3cr3t!'), '[ACCOUNT] uses [TOKEN]!');
});

test('values that overlap in a line leave no part of each other', () => {
  const remover = new ValueRemover({ ONE: 'abcdef', OTHER: 'defghi' });
  assert.equal(remover.line('<abcdefghi>'), '<[ONE]>');
});

test('each line of a value of several lines is removed, and short lines stay', () => {
  const remover = new ValueRemover({
    PEM: '-----BEGIN KEY-----\r\n  MIGHAgEAMBMG\nab==\n-----END KEY-----\n',
  });
  assert.deepEqual(
    ['key -----BEGIN KEY-----', 'MIGHAgEAMBMG', 'ab==', '"MIGHAgEAMBMG\\nab=="'].map((line) =>
      remover.line(line),
    ),
    ['key [PEM]', '[PEM]', 'ab==', '"[PEM]\\nab=="'],
  );
});

test('values of fewer than six characters stay', () => {
  assert.equal(new ValueRemover({ LEVEL: 'debug' }).line('debug mode'), 'debug mode');
});

test('the head of a cut line ends before a value that begins in it', () => {
  const remover = new ValueRemover({ ACCOUNT: 'alice@example.com', TOKEN: 'alice@example.com:pässword' });
  const head = (text: string, bytes = Infinity): string =>
    remover.head(Buffer.from(text).toString('latin1').slice(0, bytes));
  assert.equal(head('token=alice@example.com:pä'), 'token=[TOKEN]');
  // The last byte is the first half of a character.
  assert.equal(head('token=alice@example.com:pä', 26), 'token=[TOKEN]');
  assert.equal(head('token=alice@example.com:pässword, then'), 'token=[TOKEN], then');
  assert.equal(head('a line of others'), 'a line of others');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idOfLongLine } from './longLine.ts';

test('the id of a line that is too long is found where servers write it', () => {
  const text = 'x'.repeat(50);
  assert.equal(idOfLongLine(`{"jsonrpc":"2.0","id":12,"result":{"a":"${text}`, text), 12);
  assert.equal(idOfLongLine(`{"result":{"a":"${text}`, `${text}"}},"jsonrpc":"2.0","id":13}`), 13);
  assert.equal(idOfLongLine(`{"result":{"a":"${text}`, `${text}","id":14}}`), undefined);
  assert.equal(idOfLongLine('{"result":"', 'x'), undefined);
});

test('an id inside of the result of a long line is not taken for the id of the call', () => {
  const long = 'x'.repeat(50);
  assert.equal(idOfLongLine(`{"result":{"id":15,"a":"${long}`, `${long}"},"jsonrpc":"2.0"}`), undefined);
  assert.equal(idOfLongLine(`{"jsonrpc":"2.0","result":{"id":16,`, `${long}"}}`), undefined);
  assert.equal(idOfLongLine(`{"result":"${long}`, `${long}{\\"id\\":17}"}`), undefined);
  assert.equal(
    idOfLongLine('{"jsonrpc":"2.0","id":"18","result":', long),
    undefined,
    'the gateway writes numbers',
  );
});

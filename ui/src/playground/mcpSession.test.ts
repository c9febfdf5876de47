import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsOf } from './arguments.ts';
import { messagesOf } from './mcpSession.ts';

test('the messages of an answer come from JSON and from events', () => {
  const json = { headers: { 'content-type': 'application/json' }, body: '{"id":1,"result":{}}' };
  assert.deepEqual(messagesOf(json), [{ id: 1, result: {} }]);
  const events = {
    headers: { 'content-type': 'text/event-stream' },
    body: ': open\n\nevent: message\ndata: {"method":"a"}\n\nid: 2\r\ndata: {"id":1,\r\ndata: "result":{}}\r\n\r\n',
  };
  assert.deepEqual(messagesOf(events), [{ method: 'a' }, { id: 1, result: {} }]);
  assert.deepEqual(messagesOf({ headers: {}, body: 'text' }), []);
});

test('the fields of a form become arguments of their types, and blank optional ones are left out', () => {
  const schema = {
    required: ['name'],
    properties: {
      name: { type: 'string' },
      count: { type: 'integer' },
      loud: { type: 'boolean' },
      more: { type: 'object' },
      blank: { type: 'string' },
    },
  };
  const values = { name: '', count: '3', loud: 'true', more: '{"a":1}', blank: '' };
  assert.deepEqual(argumentsOf(schema, values), { name: '', count: 3, loud: true, more: { a: 1 } });
  assert.throws(() => argumentsOf(schema, { name: 'a', count: 'x' }), /count: expected a number/);
  assert.throws(() => argumentsOf(schema, { name: 'a', more: '{' }), /more: expected JSON/);
});

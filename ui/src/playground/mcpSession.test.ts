import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsOf, defaultsOf, itemOptionsOf, optionsOf, textsFor } from './arguments.ts';
import { MessageReader } from './messageReader.ts';
import type { Message } from './mcpTypes.ts';
import { Questions, Refused, textsOf } from './questions.ts';
import { headerValue, repeatedHeaders } from './revisions.ts';
import { expand, schemaOfTemplate } from './uriTemplate.ts';

/** Reads a body that arrives in pieces of a few characters. */
function messagesOf(type: string, body: string): { messages: Message[]; text: string } {
  const messages: Message[] = [];
  const reader = new MessageReader(type, (message) => messages.push(message));
  for (let at = 0; at < body.length; at += 3) reader.read(body.slice(at, at + 3));
  reader.end();
  return { messages, text: reader.text };
}

test('the messages of an answer come from JSON and from events, in whatever pieces they arrive', () => {
  const json = '{"jsonrpc":"2.0","id":1,"result":{}}';
  assert.deepEqual(messagesOf('application/json', json), {
    messages: [{ jsonrpc: '2.0', id: 1, result: {} }],
    text: '',
  });
  const events =
    ': open\n\nid: 1\ndata:\n\nevent: message\ndata: {"method":"a"}\n\nid: 2\r\ndata: {"id":1,\r\ndata: "result":{}}\r\n\r\n';
  assert.deepEqual(messagesOf('text/event-stream', events).messages, [
    { method: 'a' },
    { id: 1, result: {} },
  ]);
  assert.deepEqual(messagesOf('text/plain', 'refused'), { messages: [], text: 'refused' });
  assert.deepEqual(messagesOf('application/json', '{"error":"x"}').text, '{"error":"x"}');
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
  const args = { name: '', count: 3, loud: true, more: { a: 1 } };
  assert.deepEqual(argumentsOf(schema, values), args);
  assert.deepEqual(argumentsOf(schema, textsFor(schema, { ...args, other: 1 })), args);
  assert.throws(() => argumentsOf(schema, { name: 'a', count: 'x' }), /count: expected a number/);
  assert.throws(() => argumentsOf(schema, { name: 'a', more: '{' }), /more: expected JSON/);
});

test('choices have their titles, and lists of choices their defaults', () => {
  const hero = { type: 'string', oneOf: [{ const: 'hero-1', title: 'Superman' }] };
  assert.deepEqual(optionsOf(hero), [{ value: 'hero-1', label: 'Superman' }]);
  assert.deepEqual(optionsOf({ type: 'string', enum: ['a'] }), [{ value: 'a', label: 'a' }]);
  assert.equal(optionsOf({ type: 'string', oneOf: [{}] }), undefined);
  const fish = { type: 'array', items: { anyOf: [{ const: 'f', title: 'Tuna' }] }, default: ['f'] };
  assert.deepEqual(itemOptionsOf(fish), [{ value: 'f', label: 'Tuna' }]);
  const schema = { properties: { fish } };
  assert.deepEqual(argumentsOf(schema, textsFor(schema, defaultsOf(schema))), { fish: ['f'] });
});

test('a request of 2026-07-28 repeats its method, its item and the marked arguments in headers', () => {
  const schema = {
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      at: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } },
      plain: { type: 'string' },
    },
  };
  const call = (args: object) => ({
    jsonrpc: '2.0' as const,
    method: 'tools/call',
    params: { name: 'find', arguments: args },
  });
  assert.deepEqual(repeatedHeaders(call({ region: 'eu', at: { zone: 'ü' }, plain: 'x' }), schema), {
    'mcp-method': 'tools/call',
    'mcp-name': 'find',
    'mcp-param-region': 'eu',
    'mcp-param-zone': '=?base64?w7w=?=',
  });
  assert.deepEqual(repeatedHeaders(call({}), undefined), { 'mcp-method': 'tools/call', 'mcp-name': 'find' });
  assert.equal(headerValue(' a'), '=?base64?IGE=?=');
});

test('a question waits for its answer, and ends where the server or the page withdraws it', async () => {
  let changes = 0;
  const questions = new Questions(() => (changes += 1));
  const asked = { method: 'elicitation/create', params: {} };
  const first = questions.ask(asked);
  const withdrawn = new AbortController();
  const second = questions.ask(asked, withdrawn.signal);
  const third = questions.ask(asked);
  assert.equal(questions.list.length, 3);
  questions.list[0]?.answer({ action: 'accept' });
  assert.deepEqual(await first, { action: 'accept' });
  withdrawn.abort();
  await assert.rejects(second, Refused);
  questions.withdraw();
  await assert.rejects(third, Refused);
  assert.deepEqual([questions.list.length, changes], [0, 6]);
});

test('the texts of a request for sampling come in their order', () => {
  const params = {
    systemPrompt: 'be brief',
    messages: [
      { role: 'user', content: { type: 'text', text: 'hello' } },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', data: 'x' },
        ],
      },
    ],
  };
  assert.deepEqual(textsOf({ method: 'sampling/createMessage', params }), [
    { role: 'system', text: 'be brief' },
    { role: 'user', text: 'hello' },
    { role: 'user', text: 'a\n{"type":"image","data":"x"}' },
  ]);
});

test('a template of URIs has a field for each variable, and takes their values', () => {
  const template = 'file:///{dir}/{+path}{?line,column}';
  assert.deepEqual(Object.keys(schemaOfTemplate(template).properties ?? {}), [
    'dir',
    'path',
    'line',
    'column',
  ]);
  assert.equal(expand(template, { dir: 'a b', path: 'c/d', line: '3' }), 'file:///a%20b/c/d?line=3');
  assert.equal(expand(template, {}), 'file:////');
});

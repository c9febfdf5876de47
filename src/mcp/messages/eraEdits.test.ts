import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memberOf } from '../json/envelope.ts';
import type { Edit } from '../json/scan.ts';
import { renderOutgoing } from './outgoing.ts';
import { message } from '../targets/kind/waiter.testing.ts';
import { modernEdits, withEdits, withoutRevision } from './eraEdits.ts';

const meta =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
const written = JSON.parse(`{${meta}}`) as object;

/** The params of a request on the wire. */
function params(text: string, round?: string): unknown {
  const envelope = message(text);
  const edits = modernEdits(envelope, meta, round);
  if (edits === undefined) return undefined;
  const line = renderOutgoing({ envelope, token: undefined, edits }, 7);
  const read = JSON.parse(line) as { id: number; params: unknown };
  assert.equal(read.id, 7);
  return read.params;
}

const request = (rest: string): string => `{"jsonrpc":"2.0","id":"x","method":"tools/call"${rest}}`;

test('the members of _meta are added to every form of params', () => {
  assert.deepEqual(params(request('')), { _meta: written });
  assert.deepEqual(params(request(',"params":{}')), { _meta: written });
  assert.deepEqual(params(request(',"params":{ "a":1}')), { _meta: written, a: 1 });
  assert.deepEqual(params(request(',"params":{"_meta":{}}')), { _meta: written });
  assert.deepEqual(params(request(',"params":{"a":1,"_meta":{"progressToken":3}}')), {
    a: 1,
    _meta: { ...written, progressToken: 3 },
  });
});

test('members that only the gateway writes are replaced, and a task is left out', () => {
  const theirs =
    '"io.modelcontextprotocol/clientCapabilities":{"all":{}},"io.modelcontextprotocol/clientInfo":{}';
  assert.deepEqual(params(request(`,"params":{"task":{},"name":"n","_meta":{${theirs},"b":1}}`)), {
    name: 'n',
    _meta: { ...written, b: 1 },
  });
});

test('a further round has its members once, whatever the client wrote', () => {
  const round = '"inputResponses":{"a":{}},"requestState":"\\ud83d"';
  const text = request(',"params":{"requestState":"theirs","name":"n","inputResponses":{},"task":{}}');
  assert.deepEqual(params(text, round), {
    _meta: written,
    inputResponses: { a: {} },
    requestState: '\ud83d',
    name: 'n',
  });
  assert.deepEqual(params(request(''), round), {
    _meta: written,
    inputResponses: { a: {} },
    requestState: '\ud83d',
  });
  assert.deepEqual(params(request(',"params":{"name":"n"}'), ''), { _meta: written, name: 'n' });
});

test('a request whose _meta cannot be told is not sent', () => {
  for (const rest of ['"_meta":[]', '"_meta":null', '"_meta":{},"_meta":{}', '"_META":{},"_meta":{}'])
    assert.equal(params(request(`,"params":{${rest}}`)), undefined);
});

test('the edits of the session come first, and the progress token keeps its place', () => {
  const envelope = message(request(',"params":{"name":"prefix_n","_meta":{"progressToken":"mine"}}'));
  const name = memberOf(envelope.text, envelope.body, 'name');
  assert.ok(typeof name === 'object');
  const token = memberOf(
    envelope.text,
    memberOf(envelope.text, envelope.body, '_meta') as never,
    'progressToken',
  );
  assert.ok(typeof token === 'object');
  const own = withEdits({ envelope, token, edits: [{ ...name, replacement: '"n"' }] });
  const line = renderOutgoing({ ...own, edits: modernEdits(own.envelope, meta)! }, 9);
  assert.deepEqual((JSON.parse(line) as { params: unknown }).params, {
    name: 'n',
    _meta: { ...written, progressToken: 9 },
  });
});

/** The line of a request of the modern era for a server of the legacy era. */
function legacyLine(params: string, edits: (text: string) => readonly Edit[] = () => []): unknown {
  const envelope = message(request(`,"params":${params}`));
  const place = memberOf(envelope.text, envelope.body, '_meta');
  const token = typeof place === 'object' ? memberOf(envelope.text, place, 'progressToken') : undefined;
  assert.ok(token !== 'ambiguous');
  const out = withoutRevision({ envelope, token, edits: edits(envelope.text) });
  return (JSON.parse(renderOutgoing(out, 9)) as { readonly params: unknown }).params;
}

test('a request loses the keys of the modern era, and nothing else', () => {
  assert.deepEqual(legacyLine(`{"name":"n","_meta":{${meta}}}`), { name: 'n', _meta: {} });
  assert.deepEqual(legacyLine(`{"_meta":{"a":1,${meta},"progressToken":"x"}}`), {
    _meta: { a: 1, progressToken: 9 },
  });
  assert.deepEqual(legacyLine(`{"_meta":{${meta}, "com.example/b" : {"c":2}, "progressToken":1 }}`), {
    _meta: { 'com.example/b': { c: 2 }, progressToken: 9 },
  });
  assert.deepEqual(legacyLine('{"name":"n"}'), { name: 'n' });
});

test('members that the gateway adds to _meta stay in it', () => {
  const traced = (text: string): readonly Edit[] => {
    const start = text.indexOf('"_meta":{') + 9;
    const isEmpty = text[start] === '}';
    return [{ start, end: start, replacement: isEmpty ? '"traceparent":"t"' : '"traceparent":"t",' }];
  };
  assert.deepEqual(legacyLine(`{"_meta":{${meta}}}`, traced), { _meta: { traceparent: 't' } });
  assert.deepEqual(legacyLine(`{"_meta":{"progressToken":1,${meta}}}`, traced), {
    _meta: { traceparent: 't', progressToken: 9 },
  });
  assert.deepEqual(legacyLine('{"_meta":{}}', traced), { _meta: { traceparent: 't' } });
});

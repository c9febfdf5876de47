import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import type { HttpRequest } from '../../http/index.ts';
import { isJson, readAccept } from '../messages/accept.ts';
import { readEnvelope, type Envelope } from '../json/envelope.ts';
import { itemOf, listShape } from '../items/items.ts';
import { ItemRules } from '../items/itemRules.ts';
import { splice } from '../json/scan.ts';
import { ListFilter, type ListFilterStart } from '../items/listFilter.ts';
import { Naming } from '../items/naming.ts';
import { stdioTarget, rulesBy } from '../harness.testing.ts';
import { originAllowed } from '../serve/origin.ts';
import { Outbox } from './outbox.ts';
import { readPost } from '../serve/readPost.ts';
import { principalMark } from './carriedState.ts';
import { SessionSeal } from './sessionId.ts';
import { RetainedMemory, RetainedMemoryPool } from '../limits/retainedMemory.ts';

for (const [accept, json, events, prefersEvents = false] of [
  [undefined, true, true],
  ['*/*', true, true],
  ['application/json', true, false],
  ['text/event-stream', false, true],
  ['application/json, text/event-stream', true, true],
  ['text/event-stream, application/json', true, true, true],
  ['text/event-stream;q=0, application/json', true, false],
  ['Application/JSON;q=0.5 , text/*', true, true],
  ['*/*, text/event-stream;q=0', true, false],
  ['text/html', false, false],
] as const)
  test(`Accept: ${accept} takes ${json ? 'JSON' : 'no JSON'} and ${events ? 'events' : 'no events'}`, () => {
    assert.deepEqual(readAccept(accept), { json, events, prefersEvents });
  });

test('application/json is recognised with parameters and in any case, and nothing else is', () => {
  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON'])
    assert.equal(isJson(type), true, type);
  for (const type of [undefined, '', 'text/plain', 'application/jsonl', 'application/json-patch+json'])
    assert.equal(isJson(type), false, String(type));
});

interface OriginCase {
  readonly host: string;
  readonly origin?: string;
  readonly local: string;
}

function allowed({ host, origin, local }: OriginCase, strict: boolean): boolean {
  const request = {
    host,
    scheme: 'http',
    shownScheme: 'http',
    shownAuthority: 'gateway.test',
    localAddress: local,
    header: (name: string) => (name === 'origin' ? origin : undefined),
  };
  return originAllowed(request as unknown as HttpRequest, strict);
}

test('over loopback a foreign Origin is refused, a local one and none pass', () => {
  const local = '127.0.0.1';
  assert.equal(allowed({ host: 'localhost', local }, false), true);
  for (const origin of [
    'http://localhost:6274',
    'http://127.0.0.1',
    'https://[::1]:1',
    'http://app.localhost',
  ])
    assert.equal(allowed({ host: 'localhost', origin, local }, false), true, origin);
  for (const origin of [
    'http://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'garbage',
  ])
    assert.equal(allowed({ host: 'localhost', origin, local: '::1' }, false), false, origin);
});

test('a rebound page, whose Host and Origin agree, is refused over loopback', () => {
  assert.equal(
    allowed({ host: 'evil.example', origin: 'http://evil.example:3000', local: '::ffff:127.0.0.1' }, false),
    false,
  );
});

test('behind a TLS terminator on the same machine a public https Origin passes', () => {
  const origin = 'https://app.example.com';
  assert.equal(allowed({ host: 'api.example.com', origin, local: '127.0.0.1' }, false), true);
});

test('on other addresses tokens and cors decide about origins', () => {
  assert.equal(
    allowed({ host: 'api.example.com', origin: 'https://a.example', local: '10.0.0.5' }, false),
    true,
  );
});

test('with dnsRebindingProtection Host and Origin must both be local, on any address', () => {
  const local = '10.0.0.5';
  assert.equal(allowed({ host: 'localhost', local }, true), true);
  assert.equal(allowed({ host: 'localhost', origin: 'http://localhost', local }, true), true);
  assert.equal(allowed({ host: 'api.example.com', local }, true), false);
  assert.equal(allowed({ host: 'localhost', origin: 'https://app.example.com', local }, true), false);
});

test('a session id is opaque without the key and cannot be altered', () => {
  const seal = new SessionSeal('ab'.repeat(32));
  const id = seal.begin('backend').id;
  assert.match(id, /^[\w-]+$/);
  const ticket = seal.open(id);
  assert.equal(ticket?.owner, seal.owner);
  assert.deepEqual(new SessionSeal('ab'.repeat(32)).open(id), ticket, 'whoever has the key can read it');
  assert.equal(new SessionSeal().open(id), undefined);
  for (let i = 0; i < id.length; i++) {
    const altered = id.slice(0, i) + (id[i] === 'A' ? 'B' : 'A') + id.slice(i + 1);
    assert.equal(seal.open(altered), undefined, `character ${i}`);
  }
  for (const text of ['', 'x', `${id}=`, ` ${id}`, id.slice(1)])
    assert.equal(seal.open(text), undefined, text);
  assert.notEqual(seal.begin('backend').id, id);
});

test('an id that carries its session is sealed like the others, and holds what fits into a header', () => {
  const seal = new SessionSeal('ab'.repeat(32));
  const id = seal.begin('backend').id;
  const state = {
    beganAt: 1_800_000_000_123,
    principal: principalMark('issuer\nalice'),
    server: Buffer.alloc(16, 7),
    version: '2025-11-25',
    serverSession: '0b9c2f5e-1111-4222-8333-444455556666',
    address: '[2001:db8::1]:8080',
  };
  const carrying = seal.sealCarrying(id, 'backend', state)!;
  assert.match(carrying, /^[\w-]{1,300}$/);
  const other = new SessionSeal('ab'.repeat(32));
  const ticket = other.open(carrying);
  assert.deepEqual(ticket, { ...seal.open(id), carried: state }, 'whoever has the key can read it');
  assert.ok(other.isOf(ticket!, 'backend') && !other.isOf(ticket!, 'other'));
  assert.equal(new SessionSeal().open(carrying), undefined);
  for (let i = 0; i < carrying.length; i++) {
    const altered = carrying.slice(0, i) + (carrying[i] === 'A' ? 'B' : 'A') + carrying.slice(i + 1);
    assert.equal(seal.open(altered), undefined, `character ${i}`);
  }
  const least = { ...state, version: undefined, serverSession: undefined, address: undefined };
  assert.deepEqual(seal.open(seal.sealCarrying(id, 'backend', least)!)?.carried, least);
  const most = { ...state, serverSession: 'x'.repeat(512), address: 'y'.repeat(80) };
  assert.ok(seal.sealCarrying(id, 'backend', most)!.length <= 1_024);
  for (const beyond of [
    { serverSession: 'x'.repeat(513) },
    { address: 'y'.repeat(256) },
    { serverSession: 'x'.repeat(512), address: 'y'.repeat(255) },
    { version: '2031-01-01' },
  ])
    assert.equal(
      seal.sealCarrying(id, 'backend', { ...state, ...beyond }),
      undefined,
      JSON.stringify(beyond),
    );
});

test('a session key of another form is refused', () => {
  assert.throws(() => new SessionSeal('short'), TypeError);
});

const envelope = (text: string): Envelope => {
  const read = readEnvelope(text);
  assert.ok(typeof read === 'object');
  return read;
};

test('the item of a request is found in its place, and a second name for it is ambiguous', () => {
  const call = (method: string, params: string): unknown => {
    const item = itemOf(envelope(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`));
    return typeof item === 'object' ? [item.kind, item.name] : item;
  };
  assert.deepEqual(call('tools/call', '{"name":"a","arguments":{"name":"b"}}'), ['tool', 'a']);
  assert.deepEqual(call('prompts/get', '{"name":"a"}'), ['prompt', 'a']);
  assert.deepEqual(call('resources/read', '{"uri":"file:///a"}'), ['resource', 'file:///a']);
  assert.deepEqual(call('completion/complete', '{"ref":{"type":"ref/prompt","name":"a"}}'), ['prompt', 'a']);
  assert.deepEqual(call('completion/complete', '{"ref":{"type":"ref/resource","uri":"u"}}'), [
    'resource',
    'u',
  ]);
  assert.equal(call('tools/call', '{"name":"a","name":"b"}'), 'ambiguous');
  assert.equal(call('tools/call', '{"name":"a","Name":"b"}'), 'ambiguous');
  for (const name of ['["a"]', '5', 'null', '{"name":"a"}'])
    assert.equal(call('tools/call', `{"name":${name}}`), 'malformed', name);
  assert.equal(call('completion/complete', '{"ref":{"type":["ref/prompt"],"name":"a"}}'), 'malformed');
  assert.equal(call('tools/call', '{}'), 'unnamed');
  for (const ref of ['{}', '{"name":"a"}', '{"type":"ref/tool","name":"a"}', '5'])
    assert.equal(call('completion/complete', `{"ref":${ref}}`), 'unnamed', ref);
  assert.equal(call('ping', '{"name":"a"}'), undefined);
});

const wide = { maxDepth: 128, maxNodes: 1_000 };

test('no message within a string is a line of its own, whatever a server takes for a line break', async () => {
  const inner = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}';
  const sent = { jsonrpc: '2.0', id: 1, method: 'ping', params: { a: `é\u2028${inner}\u2029\u0085\r\n` } };
  const [message] = (await readPost(Buffer.from(JSON.stringify(sent)), wide)).messages;
  assert.doesNotMatch(message!.text, /[\r\n\u0085\u2028\u2029]/);
  assert.match(message!.text, /é/);
  assert.deepEqual(JSON.parse(message!.text), sent);
});

test('a filtered list keeps the bytes of its remaining items', () => {
  const text =
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[ {"name":"a", "n":1.0} ,{"name":"b"},{"x":{}},{"name":"c","u":"é"}],"nextCursor":"z"}}';
  const viewList = (json: string, more: Partial<ListFilterStart>): string | undefined => {
    const naming = new Naming({ targets: [stdioTarget({ name: 't' })], prefixMode: 'conditional' });
    const start = {
      shape: listShape('tools/list')!,
      target: 't',
      naming,
      itemRules: undefined,
      log: memoryLog().log,
      isFirstPage: true,
      ...more,
    };
    const shown = new ListFilter(start).filter(envelope(json));
    return 'edits' in shown ? splice(json, shown.edits) : undefined;
  };
  assert.equal(viewList(text, {}), text);
  assert.equal(
    viewList(text, {
      itemRules: ItemRules.of({ principal: undefined, ...rulesBy((item) => item.name !== 'b') }, undefined),
    }),
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a", "n":1.0},{"name":"c","u":"é"}],"nextCursor":"z"}}',
  );
  assert.equal(
    viewList(text, {
      naming: new Naming({ targets: [stdioTarget({ name: 't' })], prefixMode: 'always' }),
      itemRules: ItemRules.of({ principal: undefined, ...rulesBy((item) => item.name === 'c') }, undefined),
    }),
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t_c","u":"é"}],"nextCursor":"z"}}',
  );
  assert.equal(viewList('{"jsonrpc":"2.0","id":1,"result":{"tools":{}}}', {}), undefined);
  const listOf = (count: number): string =>
    `{"jsonrpc":"2.0","id":1,"result":{"tools":[${Array.from({ length: count }, () => '0').join(',')}]}}`;
  assert.equal(viewList(listOf(20_000), {}), listOf(20_000));
  assert.equal(viewList(listOf(20_001), {}), undefined);
});

test('messages held for a client are bounded by number and size, and the oldest go first', () => {
  const dropped: unknown[] = [];
  const outbox = new Outbox(new RetainedMemory(new RetainedMemoryPool(), 'ada'), (held) =>
    dropped.push(held.askedId),
  );
  for (let i = 1; i <= 300; i++) outbox.hold({ text: 'x', askedId: i % 2 === 0 ? i : undefined });
  assert.equal(outbox.size, 256);
  assert.equal(dropped.length, 44);
  outbox.hold({ text: 'x'.repeat(2_000_000), askedId: 999 });
  assert.equal(outbox.size, 1);
  assert.equal(outbox.drop(1), false);
  assert.deepEqual(
    outbox.take(true).map((held) => held.askedId),
    [999],
  );
  assert.equal(outbox.size, 0);
});

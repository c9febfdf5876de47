/** Large results for clients of revision 2026-07-28. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { until } from '../../until.testing.ts';
import { mcpBackend, remoteTarget, startHarness, type Harness } from '../harness.testing.ts';
import { startModern } from '../modernServer.testing.ts';
import type { Message } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { RemoteServer } from '../remoteServer.testing.ts';
import {
  accepts,
  closeAfter,
  closeStages,
  forms,
  idFirst,
  idLast,
  letters,
  messageIn,
  readAround,
  refusalIn,
  startStage,
  textOf,
  ways,
} from './largeResults.testing.ts';

afterEach(closeStages);

const call = 'tools/call';
const large = (given: object): object => ({ name: 'large', arguments: given });

/** No call is under way at any target. */
const isIdle = ({ runtime }: Harness): boolean =>
  runtime.view().sessions.every(({ targets }) => targets.every(({ pending }) => pending === 0));

for (const way of ways)
  for (const form of forms) {
    for (const [where, given] of [
      ['first', idFirst],
      ['last', idLast],
      ['first and its type written', { ...idFirst, after: '"}],"resultType":"complete"}}\n' }],
    ] as const)
      test(`a large result by ${way} with its id ${where} reaches a modern client that takes ${form} with a type`, async () => {
        const { harness } = await startStage(way);
        const client = new RawModernClient(harness.url);
        const response = await client.fetch(call, large(given), accepts(form));
        const text = await response.text();
        assert.equal(response.status, 200);
        assert.equal(text.split('"resultType":"complete"').length, 2);
        const message = messageIn(text, form);
        assert.equal(message.id, client.lastId);
        assert.equal(textOf(message), `é${'x'.repeat(letters)}`);
      });

    test(`a large result by ${way} goes to a modern client that takes ${form} while it arrives`, async () => {
      const { harness, asked } = await startStage(way, { principal: 'alice' });
      const client = new RawModernClient(harness.url);
      const response = await client.fetch(call, large({ ...idFirst, after: '' }), accepts(form));
      const text = await readAround(response, () => {
        const rest = '"}]}}';
        if (way === 'stdio')
          void client.post(call, { name: 'raw', arguments: { line: rest } }).catch(() => undefined);
        else asked[0]!.response.end(`${rest}\n\n`);
      });
      assert.equal(messageIn(text, form).result!['resultType'], 'complete');
    });

    test(`a server by ${way} that dies in a large result fails its call for a modern client that takes ${form}`, async () => {
      const { harness } = await startStage(way);
      const client = new RawModernClient(harness.url);
      const response = await client.fetch(call, large({ ...idFirst, after: '', dies: true }), accepts(form));
      if (form === 'JSON') await assert.rejects(response.text());
      else assert.equal(refusalIn(await response.text()).id, client.lastId);
      await until('the gateway gives the session back', () => isIdle(harness));
    });

    test(`a modern client that takes ${form} and leaves in the middle of a result by ${way} stops nothing`, async () => {
      const { harness } = await startStage(way);
      const client = new RawModernClient(harness.url);
      const left = new AbortController();
      const given = large({ ...idFirst, letters: 9_000_000 });
      const response = await client.fetch(call, given, accepts(form), left.signal);
      await response.body!.getReader().read();
      left.abort();
      const { json } = await client.post(call, { name: 'echo', arguments: { text: 'on' } });
      assert.equal(textOf(json), 'on');
      await until('the call is over', () => isIdle(harness));
    });
  }

test('a large result of a modern server reaches a modern client with one type, while it arrives', async () => {
  const server = await startModern();
  closeAfter(() => server.close());
  const harness = await startHarness({ backend: mcpBackend({ targets: [remoteTarget(server.url)] }) });
  closeAfter(() => harness.close());
  const client = new RawModernClient(harness.url);
  const said = 'y'.repeat(2_000_000);
  const response = await client.fetch(call, { name: 'echo', arguments: { text: said } });
  // Only a response that is sent while it arrives has no length.
  assert.equal(response.headers.get('content-length'), null);
  const text = await response.text();
  assert.equal(text.split('"resultType"').length, 2);
  assert.equal(textOf(JSON.parse(text) as Message), said);
});

for (const [what, isPrivate, written, expected] of [
  ['lacks hints gets them', false, '', { ttlMs: 0, cacheScope: 'private' }],
  ['has hints keeps them', false, ',"ttlMs":5,"cacheScope":"public"', { ttlMs: 5, cacheScope: 'public' }],
  [
    'may be kept by others is private to its caller',
    true,
    ',"ttlMs":5,"cacheScope":"public"',
    { ttlMs: 0, cacheScope: 'private' },
  ],
] as const)
  test(`a large resource that ${what}`, async () => {
    const server = await RemoteServer.start();
    closeAfter(() => server.close());
    const blob = 'z'.repeat(2_000_000);
    server.methods['resources/read'] = ({ id, response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        `{"jsonrpc":"2.0","id":${String(id)},"result":{"contents":[{"uri":"a:1","blob":"${blob}"}]${written}}}`,
      );
    };
    // In front of several targets the URIs of a caller are names that the gateway makes.
    const names = isPrivate ? ['first', 'second'] : ['first'];
    const targets = names.map((name) => remoteTarget(server.url, { name }));
    const harness = await startHarness({ backend: mcpBackend({ targets }) });
    closeAfter(() => harness.close());
    const client = new RawModernClient(harness.url);
    const response = await client.fetch('resources/read', { uri: isPrivate ? 'first+a:1' : 'a:1' });
    assert.equal(response.headers.get('content-length'), null);
    const { contents, ...members } = ((await response.json()) as Message).result!;
    assert.deepEqual(members, { ...expected, resultType: 'complete' });
    assert.equal((contents as { blob: string }[])[0]!.blob, blob);
  });

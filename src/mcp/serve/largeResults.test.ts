import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { until } from '../../until.testing.ts';
import { mcpBackend, startHarness, stdioTarget, type Harness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import {
  accepts,
  closeAfter,
  closeStages,
  eventsOf,
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
  type Stage,
  type StageOptions,
  type Way,
} from './largeResults.testing.ts';

afterEach(closeStages);

/** A gateway before a server that answers in one of the ways, and its clients. */
async function stage(
  way: Way,
  options: StageOptions = {},
): Promise<Stage & { connect(): Promise<RawClient> }> {
  const made = await startStage(way, options);
  return {
    ...made,
    connect: async () => {
      const client = new RawClient(made.harness.url);
      await client.initialize();
      return client;
    },
  };
}

const calls = (harness: Harness, outcome: string): number =>
  [...harness.metrics()].find(
    ([name]) =>
      name.startsWith('mcp_requests_total') && name.includes('tools/call') && name.includes(`"${outcome}"`),
  )?.[1] ?? 0;

for (const way of ways)
  for (const form of forms) {
    for (const [where, large] of [
      ['first', idFirst],
      ['last', idLast],
    ] as const)
      test(`a large result by ${way} with its id ${where} reaches a client that takes ${form}, under its own id`, async () => {
        const { harness, connect } = await stage(way);
        const clients = [await connect(), await connect()];
        const answers = await Promise.all(
          clients.map(async (client, index) => {
            const request = { ...client.tool('large', large), id: `call ${index}` };
            const response = await client.fetch(request, accepts(form));
            assert.equal(response.status, 200);
            return messageIn(await response.text(), form);
          }),
        );
        for (const [index, answer] of answers.entries()) {
          assert.equal(answer.id, `call ${index}`);
          assert.equal(answer.jsonrpc, '2.0');
          assert.equal(textOf(answer), `é${'x'.repeat(letters)}`);
        }
        assert.equal(calls(harness, 'ok'), 2);
        assert.deepEqual(
          harness.runtime.view().sessions.map(({ targets }) => targets[0]!.pending),
          [0, 0],
        );
      });

    test(`a large result by ${way} goes to a client that takes ${form} while it arrives`, async () => {
      const { connect, asked } = await stage(way);
      const client = await connect();
      const response = await client.fetch(client.tool('large', { ...idFirst, after: '' }), accepts(form));
      const text = await readAround(response, () => {
        const rest = '"}]}}';
        if (way === 'stdio') void client.fetch(client.tool('raw', { line: rest })).catch(() => undefined);
        else asked[0]!.response.end(`${rest}\n\n`);
      });
      assert.equal(textOf(messageIn(text, form)).length, letters + 2);
    });

    for (const [what, large, reason] of [
      ['breaks JSON in the middle', { ...idFirst, after: '"}]]}}\n' }, /broken JSON/],
      ['ends with the id of another call', { ...idLast, after: '"}]},"jsonrpc":"2.0","id":99}\n' }, /"id"/],
      ['has a second id', { ...idFirst, after: '"}]},"id":$ID}\n' }, /"id" twice/],
      ['dies in the middle', { ...idFirst, after: '', dies: true }, /ended|broke|failed|closed/],
      ['answers with a result over the limit', { ...idFirst, letters: 6_000_000 }, /too large/],
    ] as const)
      test(`a server by ${way} that ${what} fails its call for a client that takes ${form}`, async () => {
        const { harness, connect } = await stage(way, { limits: { maxMcpMessageBytes: 4_000_000 } });
        const client = await connect();
        const response = await client.fetch(client.tool('large', large), accepts(form));
        if (form === 'JSON') await assert.rejects(response.text());
        else assert.match(refusalIn(await response.text()).error!.message, reason);
        const logged = harness.log.find(({ message }) => message.startsWith('Response broke off'));
        assert.equal(logged?.level, 'warn');
        assert.match(`${String(logged.fields['reason'])} ${String(logged.fields['detail'])}`, reason);
        assert.equal(calls(harness, 'failed'), 1);
        // A call that a dying server was sent before its end is noticed fails, too.
        await until('the session goes on', async () => (await client.call('echo', { text: 'on' })) === 'on');
      });

    test(`a client that takes ${form} and leaves in the middle of a result by ${way} stops nothing`, async () => {
      const { harness, connect } = await stage(way);
      const client = await connect();
      const left = new AbortController();
      const response = await client.fetch(
        client.tool('large', { ...idFirst, letters: 9_000_000 }),
        accepts(form),
        left.signal,
      );
      await response.body!.getReader().read();
      left.abort();
      assert.equal(await client.call('echo', { text: 'on' }), 'on');
      await until('the call is over', () => harness.runtime.view().sessions[0]!.targets[0]!.pending === 0);
      assert.equal(harness.runtime.view().sessions[0]!.pressed, false);
    });

    test(`a client that takes ${form} and reads slowly holds back its own result by ${way} and no other session`, async () => {
      const { harness, connect } = await stage(way);
      const [slow, other] = [await connect(), await connect()];
      const response = await slow.fetch(
        slow.tool('large', { ...idFirst, letters: 15_000_000 }),
        accepts(form),
      );
      await until('the session is held back', () =>
        harness.runtime.view().sessions.some(({ pressed }) => pressed),
      );
      const answer = await other.post(other.tool('large', idFirst));
      assert.equal(textOf(answer.json).length, letters + 1);
      assert.equal(textOf(messageIn(await response.text(), form)).length, 15_000_001);
      await until(
        'the session goes on',
        () => !harness.runtime.view().sessions.some(({ pressed }) => pressed),
      );
    });

    test(`a result by ${way} that stops in the middle fails in time for a client that takes ${form}`, async () => {
      const { harness, connect } = await stage(way, { callTimeoutMs: 500 });
      const client = await connect();
      const response = await client.fetch(client.tool('large', { ...idFirst, after: '' }), accepts(form));
      if (form === 'JSON') await assert.rejects(response.text());
      else assert.match(eventsOf(await response.text())[1]!.data, /did not answer within 500 ms/);
      assert.equal(calls(harness, 'failed'), 1);
    });

    test(`a client that takes ${form} can cancel a call in the middle of its result by ${way}`, async () => {
      const { harness, connect } = await stage(way);
      const client = await connect();
      const request = client.tool('large', { ...idFirst, after: '' }) as { id: number };
      const response = await client.fetch(request, accepts(form));
      await client.post({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: request.id },
      });
      if (form === 'JSON') await assert.rejects(response.text());
      else assert.match(eventsOf(await response.text())[1]!.data, /cancelled/);
      assert.equal(calls(harness, 'cancelled'), 1);
    });
  }

test('a late answer to a cancelled call does not reach the call that follows', async () => {
  const { connect } = await stage('stdio');
  const client = await connect();
  const cancelled = client.tool('hold') as { id: number };
  const gone = client.fetch(cancelled);
  await client.post({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: cancelled.id },
  });
  await (await gone).text();
  // The first call of the session was `initialize`, so the cancelled one is the second.
  const late = `{"result":{"text":"${'x'.repeat(2_000_000)}"},"jsonrpc":"2.0","id":2}`;
  const answer = await client.call('large', {
    before: `${late}\n`,
    letters: 0,
    after: idFirst.before.concat('"}]}}\n'),
  });
  assert.equal(answer, 'é');
});

test('a task that a large result names behind its content is none of the client', async () => {
  const { connect } = await stage('stdio');
  const client = await connect();
  const meta = '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"of the server"},"x":1}';
  const answer = await client.post(client.tool('large', { ...idFirst, after: `"}],${meta}}}\n` }));
  assert.deepEqual(answer.json.result!['_meta'], {
    'io.modelcontextprotocol/related-task': { taskId: 'unknown' },
    x: 1,
  });
});

test('a large result of one target of several names its resources as the client knows them', async () => {
  const targets = [stdioTarget({ name: 'first' }), stdioTarget({ name: 'second' })];
  const harness = await startHarness({ backend: mcpBackend({ targets }) });
  closeAfter(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const block = (uri: string, blob = ''): string =>
    `{"resource":{"uri":"${uri}","blob":"${blob}"},"type":"resource"}`;
  const link = '{"type":"resource_link","uri":"a:1"}';
  const large = {
    before: `{"jsonrpc":"2.0","id":$ID,"result":{"content":[${link},{"type":"text","text":"`,
    letters,
    after: `"},${block('a:2', 'y'.repeat(70_000))},${link}],"_meta":{"ui":{"resourceUri":"ui://a"}}}}\n`,
  };
  const response = await client.fetch(client.tool('first_large', large));
  // Only a response that is sent while it arrives has no length.
  assert.equal(response.headers.get('content-length'), null);
  const { result } = (await response.json()) as Message;
  const content = result!['content'] as { uri?: string; text?: string; resource?: { uri: string } }[];
  assert.deepEqual(
    content.map(({ uri, text, resource }) => uri ?? resource?.uri ?? text?.length),
    ['first+a:1', letters, 'first+a:2', 'first+a:1'],
  );
  assert.deepEqual(result!['_meta'], { ui: { resourceUri: 'ui://first+a' } });
});

test('bytes that are no UTF-8 become replacement characters, also in a large result', async () => {
  const { connect, asked } = await stage('JSON over HTTP');
  const client = await connect();
  const call = client.post(client.tool('large', { ...idFirst, after: '' }));
  const x = await until('the server is asked', () => asked[0]);
  x.response.end(Buffer.concat([Buffer.from([0xff, 0xe2, 0x82]), Buffer.from('€"}]}}')]));
  assert.ok(textOf((await call).json).endsWith('x\ufffd\ufffd€'));
});

test('a client that comes back for a large result that it lost gets an error', async () => {
  const { connect } = await stage('stdio');
  const client = await connect();
  const left = new AbortController();
  const events = await client.stream(
    client.tool('large', { ...idFirst, letters: 9_000_000 }),
    accepts('events'),
    left.signal,
  );
  await events.nextBlock();
  const { lastId } = events;
  left.abort();
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
  const again = await client.get({ 'last-event-id': lastId });
  assert.equal((await again.next())?.error?.message, 'response broke off');
  assert.equal(await again.next(), undefined);
});

test('a message behind a large result does not disturb it', async () => {
  const { connect } = await stage('stdio');
  const client = await connect();
  const events = await client.stream(client.tool('large', { ...idFirst, after: '' }), accepts('events'));
  const progress =
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"beside"}}';
  void client.fetch(client.tool('raw', { line: `"}]}}\n${progress}` })).catch(() => undefined);
  const all = await events.rest();
  assert.equal(textOf(all[0]!).length, letters + 1);
});

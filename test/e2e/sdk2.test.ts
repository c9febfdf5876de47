import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport, type Notification } from '@modelcontextprotocol/client';
import { answers, testFeatures, type Connect, type McpClient } from './features.testing.ts';
import { apart } from './session.testing.ts';
import { startBeforeEverything, startIdp } from './stage.testing.ts';

const connect =
  (versionNegotiation: { mode: 'legacy' | 'auto' }, fetchBy: typeof fetch = fetch): Connect =>
  async (url, token) => {
    const client = new Client(
      { name: 'sdk2', version: '1.0.0' },
      {
        capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
        versionNegotiation,
      },
    );
    const notifications: Notification[] = [];
    const roots = [{ uri: 'file:///srv/first', name: 'first' }];
    client.fallbackNotificationHandler = (notification) => {
      notifications.push(notification);
      return Promise.resolve();
    };
    client.setRequestHandler('sampling/createMessage', () => ({ ...answers.sampling }));
    client.setRequestHandler('elicitation/create', () => structuredClone(answers.elicitation));
    client.setRequestHandler('roots/list', () => ({ roots }));
    const transport = new StreamableHTTPClientTransport(url, {
      fetch: fetchBy,
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    await client.connect(transport);
    return {
      client: client as unknown as McpClient,
      notifications,
      roots,
      async close() {
        await transport.terminateSession();
        await client.close();
      },
    };
  };

test('a client that first tries the stateless era finds the session era', async () => {
  await using idp = await startIdp();
  await using gateway = await startBeforeEverything(idp, '/');
  const session = await connect({ mode: 'auto' })(
    new URL('/mcp', gateway.url),
    await idp.issueToken({ user: 'alice' }),
  );
  const result = await session.client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  assert.deepEqual(result.content, [{ type: 'text', text: 'Echo: hello' }]);
  await session.close();
});

testFeatures('the TypeScript SDK 2.x client', connect({ mode: 'legacy' }));
testFeatures(
  'the same client on a connection for each request, with two workers',
  connect({ mode: 'legacy' }, apart),
  2,
);
testFeatures('the same with three workers', connect({ mode: 'legacy' }, apart), 3);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  type Notification,
} from '@modelcontextprotocol/sdk/types.js';
import { answers, testFeatures, type Connected, type McpClient } from './features.testing.ts';
import { startBeforeEverything, startIdp } from './stage.testing.ts';

async function connect(url: URL, token: string): Promise<Connected> {
  const client = new Client(
    { name: 'sdk1', version: '1.0.0' },
    { capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } } },
  );
  const notifications: Notification[] = [];
  const roots = [{ uri: 'file:///srv/first', name: 'first' }];
  client.fallbackNotificationHandler = (notification) => {
    notifications.push(notification);
    return Promise.resolve();
  };
  client.setRequestHandler(CreateMessageRequestSchema, () => ({ ...answers.sampling }));
  client.setRequestHandler(ElicitRequestSchema, () => structuredClone(answers.elicitation));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  const callTool = client.callTool.bind(client);
  return {
    client: Object.assign(client, {
      // The second argument of this generation is a schema.
      callTool: (params: Parameters<typeof callTool>[0], options?: Parameters<typeof callTool>[2]) =>
        callTool(params, undefined, options),
    }) as unknown as McpClient,
    notifications,
    roots,
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

testFeatures('the TypeScript SDK 1.x client', connect);

test('a tool that runs as a task is asked after until its result is there', async () => {
  await using idp = await startIdp();
  await using gateway = await startBeforeEverything(idp);
  const client = new Client(
    { name: 'sdk1', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept' as const,
    content: { interpretation: 'historical' },
  }));
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', gateway.url), {
    requestInit: { headers: { authorization: `Bearer ${await idp.issueToken({ user: 'alice' })}` } },
  });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  await client.listTools();
  const seen: string[] = [];
  let report = '';
  for await (const message of client.experimental.tasks.callToolStream({
    name: 'simulate-research-query',
    arguments: { topic: 'gateways', ambiguous: true },
  })) {
    seen.push(message.type === 'taskStatus' ? message.task.status : message.type);
    if (message.type === 'result') report = JSON.stringify(message.result.content);
    if (message.type === 'error') throw message.error;
  }
  assert.equal(seen[0], 'taskCreated');
  assert.equal(seen.at(-1), 'result');
  assert.match(report, /gateways \(historical\)/, 'the question of the task has found its way to the client');
  await transport.terminateSession();
  await client.close();
});

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { everything, mcpBackend, startHarness, stdioTarget } from './harness.testing.ts';

const harness = await startHarness({
  backend: mcpBackend({ targets: [stdioTarget({ name: 'everything', args: [everything, 'stdio'] })] }),
});
after(() => harness.close());

test('the SDK 1.x client lists and calls tools of server-everything', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(harness.url);
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === 'echo'));
  const result = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
  assert.deepEqual(result.content, [{ type: 'text', text: 'Echo: hi' }]);
  await transport.terminateSession();
  await client.close();
});

import { Client, StreamableHTTPClientTransport, type Notification } from '@modelcontextprotocol/client';
import { answers, testFeatures, type Connect, type McpClient } from './features.testing.ts';
import { apart } from './session.testing.ts';

const connect =
  (fetchBy: typeof fetch = fetch): Connect =>
  async (url, token) => {
    const client = new Client(
      { name: 'sdk2', version: '1.0.0' },
      {
        capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
        versionNegotiation: { mode: 'legacy' },
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

testFeatures('the TypeScript SDK 2.x client', connect());
testFeatures('the same client on a connection for each request, with two workers', connect(apart), 2);
testFeatures('the same with three workers', connect(apart), 3);

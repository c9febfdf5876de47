import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { RemoteServer } from '../../../src/mcp/remoteServer.testing.ts';
import { toolsPath } from './objects.ts';

/** An MCP server that tells its own name in `initialize`. */
export async function startTools(name: string, address: string): Promise<RemoteServer> {
  const server = await RemoteServer.start(0, 'http', address);
  server.stateful = false;
  server.methods['initialize'] = (x) => {
    const { protocolVersion } = { protocolVersion: '', ...x.seen.message.params };
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: '1' } };
    x.json({ jsonrpc: '2.0', id: x.id, result });
    // It lives as long as the measurement.
    server.seen.length = 0;
  };
  return server;
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'scale', version: '1' } },
});

/** A client that begins MCP sessions through the gateway, and ends each at once. */
export class ToolsClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly port: number;
  private readonly host: string;
  asked = 0;
  /** Sessions that could not be begun: a change must cost none. */
  failed = 0;

  constructor(port: number, host: string) {
    this.port = port;
    this.host = host;
  }

  /** Begins sessions until one is with this server. @throws Error after a minute */
  async until(server: string): Promise<void> {
    const end = performance.now() + 60_000;
    while ((await this.server()) !== server) {
      if (performance.now() > end) throw new Error(`waited in vain for a session with ${server}`);
      await pause(3);
    }
  }

  close(): void {
    this.agent.destroy();
  }

  /** The name of the server with which a new session is. */
  private async server(): Promise<string | undefined> {
    this.asked++;
    const { status, session, text } = await this.send(
      'POST',
      { 'content-type': 'application/json' },
      initialize,
    );
    if (session !== undefined) await this.send('DELETE', { 'mcp-session-id': session });
    if (status !== 200) this.failed++;
    return /"serverInfo":\{"name":"([^"]*)"/.exec(text)?.[1];
  }

  private async send(
    method: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<{ readonly status: number; readonly session: string | undefined; readonly text: string }> {
    return await new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.port,
          path: toolsPath,
          method,
          agent: this.agent,
          headers: { host: this.host, accept: 'application/json, text/event-stream', ...headers },
          timeout: 5_000,
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('error', reject).once('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              session: response.headers['mcp-session-id']?.toString(),
              text,
            }),
          );
        },
      );
      sent.once('timeout', () => sent.destroy(new Error('no answer within five seconds')));
      sent.on('error', reject).end(body);
    });
  }
}

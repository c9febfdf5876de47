import { Agent, request, type IncomingMessage } from 'node:http';
import { initialize, initialized } from '../mcp/messages.ts';

/** An MCP session that counts the bytes of answers and keeps none. */
export class LargeClient {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly url: URL;
  private readonly accept: string;
  private session: string | undefined;
  private id = 0;

  constructor(url: URL, events = false) {
    this.url = url;
    this.accept = events ? 'text/event-stream' : 'application/json, text/event-stream';
  }

  async open(): Promise<void> {
    await this.post(initialize);
    await this.post(initialized);
  }

  /** @returns the bytes of the answer */
  async call(tool: string, args: object = {}): Promise<number> {
    return await this.post({
      jsonrpc: '2.0',
      id: ++this.id,
      method: 'tools/call',
      params: { name: tool, arguments: args },
    });
  }

  close(): void {
    this.agent.destroy();
  }

  private async post(message: object): Promise<number> {
    const body = JSON.stringify(message);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(
        this.url,
        {
          method: 'POST',
          agent: this.agent,
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            accept: this.accept,
            ...(this.session !== undefined && {
              'mcp-session-id': this.session,
              'mcp-protocol-version': initialize.params.protocolVersion,
            }),
          },
        },
        resolve,
      );
      sent.on('error', reject);
      sent.end(body);
    });
    this.session ??= answer.headers['mcp-session-id'] as string | undefined;
    let bytes = 0;
    for await (const part of answer) bytes += (part as Buffer).length;
    if ((answer.statusCode ?? 0) > 299) throw new Error(`status ${answer.statusCode}`);
    return bytes;
  }
}

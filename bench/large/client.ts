import { Agent, request, type IncomingMessage } from 'node:http';
import { initialize, initialized, modernVersion, requestOf, type ClientEra } from '../mcp/messages.ts';
import type { LargeCase } from './cases.ts';

/** An MCP client that counts the bytes of answers and keeps none. */
export class LargeClient {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly url: URL;
  private readonly accept: string;
  private readonly era: ClientEra;
  private session: string | undefined;
  private id = 0;

  constructor(url: URL, { events, era = 'legacy' }: Pick<LargeCase, 'events' | 'era'> = {}) {
    this.url = url;
    this.accept = events === true ? 'text/event-stream' : 'application/json, text/event-stream';
    this.era = era;
  }

  /** Modern clients open no session. */
  async open(): Promise<void> {
    if (this.era === 'modern') return;
    await this.post(JSON.stringify(initialize));
    await this.post(JSON.stringify(initialized));
  }

  /** @returns the bytes of the answer */
  async call(tool: string, args: object = {}): Promise<number> {
    const method = 'tools/call';
    const body = requestOf(++this.id, method, { name: tool, arguments: args }, this.era);
    if (this.era === 'legacy') return await this.post(body);
    return await this.post(body, {
      'mcp-protocol-version': modernVersion,
      'mcp-method': method,
      'mcp-name': tool,
    });
  }

  close(): void {
    this.agent.destroy();
  }

  private async post(body: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
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
            ...headers,
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

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** A request for a token. */
export interface CloudRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly form: URLSearchParams;
}

export interface CloudAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is, anything else as JSON. */
  readonly body: unknown;
}

/** A server of a cloud on loopback: its token endpoint and its metadata server. */
export class CloudServer {
  readonly requests: CloudRequest[] = [];
  private readonly server;

  private constructor(answer: (request: CloudRequest) => CloudAnswer | Promise<CloudAnswer>) {
    this.server = createServer((request, response) => {
      void (async () => {
        let body = '';
        for await (const part of request) body += String(part);
        const url = new URL(request.url ?? '', this.url);
        const { method = '', headers } = request;
        const seen = { method, url, headers, form: new URLSearchParams(body) };
        this.requests.push(seen);
        return await answer(seen);
      })()
        .catch((error: unknown): CloudAnswer => ({
          status: 400,
          body: { error: 'invalid_grant', error_description: String(error) },
        }))
        .then(({ status = 200, headers, body }) =>
          response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body)),
        );
    });
  }

  static async start(
    t: TestContext,
    answer: (request: CloudRequest) => CloudAnswer | Promise<CloudAnswer>,
  ): Promise<CloudServer> {
    const started = new CloudServer(answer);
    await new Promise<void>((resolve) => started.server.listen(0, '127.0.0.1', resolve));
    t.after(() => started.close());
    return started;
  }

  /** host:port */
  get host(): string {
    return `127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Sets variables of this process until the test ends; undefined removes one. */
export function setEnvironment(t: TestContext, values: Readonly<Record<string, string | undefined>>): void {
  const set = (name: string, value: string | undefined): void => {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  };
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name];
    t.after(() => set(name, before));
    set(name, value);
  }
}

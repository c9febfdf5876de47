import { HttpConnection, type HttpAnswer } from './httpConnection.ts';
import { StdioConnection } from './stdioConnection.ts';
import { callOf, checkAnswer, initialize, initialized } from './messages.ts';

/** An MCP session that calls the echo tool, one call after the other. */
export interface BenchClient {
  open(): Promise<void>;
  /** Resolves when the right answer is there. */
  call(): Promise<void>;
  close(): Promise<void>;
}

/** Over Streamable HTTP; reads JSON and event-stream answers. */
export class HttpClient implements BenchClient {
  readonly #connection: HttpConnection;
  readonly #fixedHead: string;
  readonly #index: number;
  #sessionHead = '';
  #id = 0;

  readonly #tool: string | undefined;

  constructor(index: number, url: URL, token: string | undefined, tool?: string) {
    this.#index = index;
    this.#tool = tool;
    this.#connection = new HttpConnection(Number(url.port));
    this.#fixedHead =
      `${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nUser-Agent: portcullis-bench\r\n` +
      'Connection: keep-alive\r\nAccept: application/json, text/event-stream\r\nAccept-Language: *\r\n' +
      'Accept-Encoding: identity\r\nSec-Fetch-Mode: cors\r\n' +
      (token === undefined ? '' : `Authorization: Bearer ${token}\r\n`);
  }

  async open(): Promise<void> {
    const answer = await this.#post(JSON.stringify(initialize), 200);
    const session = answer.headers.get('mcp-session-id');
    if (session === undefined) throw new Error(`no session: ${answer.body}`);
    this.#sessionHead = `Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: ${initialize.params.protocolVersion}\r\n`;
    await this.#post(JSON.stringify(initialized), 202);
  }

  async call(): Promise<void> {
    const id = ++this.#id;
    const { headers, body } = await this.#post(callOf(id, this.#index, this.#tool), 200);
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    checkAnswer(isStream ? lastEvent(body) : body, id, this.#index);
  }

  async close(): Promise<void> {
    await this.#connection.send(`DELETE ${this.#fixedHead}${this.#sessionHead}\r\n`);
    this.#connection.close();
  }

  async #post(body: string, expected: number): Promise<HttpAnswer> {
    const answer = await this.#connection.send(
      `POST ${this.#fixedHead}${this.#sessionHead}Content-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    if (answer.status !== expected) throw new Error(`status ${answer.status}: ${answer.body}`);
    return answer;
  }
}

/** The data of the last event that has any: the answer ends its stream. */
function lastEvent(stream: string): string {
  const data = stream.split(/\r?\n/).filter((line) => line.startsWith('data:') && line.length > 6);
  return data.at(-1)?.slice(5) ?? '';
}

/** Straight to a child of the load generator: what the server costs with nothing in front of it. */
export class StdioClient implements BenchClient {
  readonly #connection: StdioConnection;
  readonly #index: number;
  #id = 0;

  constructor(index: number, command: readonly string[]) {
    this.#index = index;
    this.#connection = new StdioConnection(command);
  }

  async open(): Promise<void> {
    await this.#connection.request(JSON.stringify(initialize));
    this.#connection.notify(JSON.stringify(initialized));
  }

  async call(): Promise<void> {
    const id = ++this.#id;
    checkAnswer(await this.#connection.request(callOf(id, this.#index)), id, this.#index);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

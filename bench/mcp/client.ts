import { HttpConnection, type HttpAnswer } from './httpConnection.ts';
import { StdioConnection } from './stdioConnection.ts';
import {
  callParams,
  checkAnswer,
  initialize,
  initialized,
  ListCheck,
  modernVersion,
  requestOf,
  type ClientEra,
} from './messages.ts';

/** The requests of a client in its closed loop. */
export type Work =
  | { readonly method: 'tools/call'; readonly tool: string; readonly era: ClientEra }
  | { readonly method: 'tools/list'; readonly tools: number; readonly era: ClientEra };

/** An MCP client that sends one request after the other. */
export interface BenchClient {
  open(): Promise<void>;
  /** Resolves when the right answer is there. */
  work(): Promise<void>;
  close(): Promise<void>;
}

/** Over Streamable HTTP, in either era; reads JSON and event-stream answers. */
export class HttpClient implements BenchClient {
  readonly #connection: HttpConnection;
  readonly #fixedHead: string;
  readonly #index: number;
  readonly #work: Work;
  readonly #list: ListCheck | undefined;
  #sessionHead = '';
  #id = 0;

  /** @param connection of several clients who never send at the same time; absent: one of its own */
  constructor(
    index: number,
    url: URL,
    token: string | undefined,
    work: Work,
    connection = new HttpConnection(Number(url.port)),
  ) {
    this.#index = index;
    this.#work = work;
    this.#list = work.method === 'tools/list' ? new ListCheck(work.tools) : undefined;
    this.#connection = connection;
    this.#fixedHead =
      `${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nUser-Agent: portcullis-bench\r\n` +
      'Connection: keep-alive\r\nAccept: application/json, text/event-stream\r\nAccept-Language: *\r\n' +
      'Accept-Encoding: identity\r\nSec-Fetch-Mode: cors\r\n' +
      (token === undefined ? '' : `Authorization: Bearer ${token}\r\n`);
  }

  async open(): Promise<void> {
    const { era } = this.#work;
    if (era === 'modern') {
      await this.#post(requestOf(0, 'server/discover', {}, era), 200, modernHead('server/discover'));
      return;
    }
    const answer = await this.#post(JSON.stringify(initialize), 200);
    const session = answer.headers.get('mcp-session-id');
    // A stateless backend keeps no session.
    const sessionHead = session === undefined ? '' : `Mcp-Session-Id: ${session}\r\n`;
    this.#sessionHead = `${sessionHead}MCP-Protocol-Version: ${initialize.params.protocolVersion}\r\n`;
    await this.#post(JSON.stringify(initialized), 202);
  }

  async work(): Promise<void> {
    const id = ++this.#id;
    const work = this.#work;
    const { method, era } = work;
    const isCall = method === 'tools/call';
    const params = isCall ? callParams(id, this.#index, work.tool) : {};
    const head = era === 'modern' ? modernHead(method, isCall ? work.tool : undefined) : this.#sessionHead;
    const { headers, body } = await this.#post(requestOf(id, method, params, era), 200, head);
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    const text = isStream ? lastEvent(body) : body;
    if (this.#list === undefined) checkAnswer(text, id, this.#index);
    else this.#list.check(text, id);
  }

  async close(): Promise<void> {
    if (this.#sessionHead.startsWith('Mcp-Session-Id'))
      await this.#connection.send(`DELETE ${this.#fixedHead}${this.#sessionHead}\r\n`);
    this.#connection.close();
  }

  /** Ends the session, and leaves the connection to others. */
  async end(): Promise<void> {
    await this.#connection.send(`DELETE ${this.#fixedHead}${this.#sessionHead}\r\n`);
  }

  async #post(body: string, expected: number, head = this.#sessionHead): Promise<HttpAnswer> {
    const answer = await this.#connection.send(
      `POST ${this.#fixedHead}${head}Content-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    if (answer.status !== expected) throw new Error(`status ${answer.status}: ${answer.body}`);
    return answer;
  }
}

const modernHead = (method: string, name?: string): string =>
  `MCP-Protocol-Version: ${modernVersion}\r\nMcp-Method: ${method}\r\n` +
  (name === undefined ? '' : `Mcp-Name: ${name}\r\n`);

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

  async work(): Promise<void> {
    const id = ++this.#id;
    const request = requestOf(id, 'tools/call', callParams(id, this.#index, 'echo'));
    checkAnswer(await this.#connection.request(request), id, this.#index);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

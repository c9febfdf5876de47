import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../telemetry/index.ts';
import type { AdminAct } from './contract.ts';
import { reading } from './reading.ts';

/** The content of a page. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The answer is an event stream, which begins behind the head. */
  readonly stream?: (response: ServerResponse) => void;
}

export interface Page {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** For the index. */
  readonly about: string;
  /** Bytes of a body that the page takes; other pages read none. */
  readonly maxBody?: number;
  readonly answer: (query: URLSearchParams, body: string) => Answer | Promise<Answer>;
}

export const text = (status: number, body: string): Answer => ({ status, body: `${body}\n` });

export const json = (status: number, value: unknown): Answer => ({
  status,
  body: `${JSON.stringify(value, null, 2)}\n`,
  type: 'application/json',
});

const find = async (
  pages: readonly Page[],
  method: string,
  target: string,
  read: (most: number) => Promise<string | undefined>,
): Promise<Answer> => {
  const [path = '', query = ''] = target.split('?', 2);
  const there = pages.filter((page) => page.path === path);
  if (there.length === 0) return text(404, 'not found');
  const wanted = method === 'HEAD' ? 'GET' : method;
  const page = there.find((each) => each.method === wanted);
  if (page !== undefined) {
    const body = page.maxBody === undefined ? '' : await read(page.maxBody);
    if (body === undefined) return text(413, `the body may have ${page.maxBody ?? 0} bytes`);
    return await page.answer(new URLSearchParams(query), body);
  }
  const allow = there.map((each) => (each.method === 'GET' ? 'GET, HEAD' : each.method)).join(', ');
  return { ...text(405, 'method not allowed'), headers: { allow } };
};

/** The request handler for a table of pages; `refuse` is asked first. Never rejects. */
export const serve =
  (
    pages: readonly Page[],
    log: Logger,
    refuse: (request: IncomingMessage) => Answer | undefined = () => undefined,
    acted?: (act: AdminAct) => void,
  ) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let answer: Answer;
    try {
      const refused = refuse(request);
      answer =
        refused ??
        (await find(pages, request.method ?? '', request.url ?? '', (most) => bodyOf(request, most)));
    } catch (error) {
      log.error('Admin page failed', { path: request.url, reason: String(error) });
      answer = text(500, 'internal error');
    }
    if (acted !== undefined && !reading.has(request.method ?? '')) {
      const { method = '', url: target = '', socket } = request;
      acted({
        method,
        target,
        status: answer.status,
        address: socket.remoteAddress,
        port: socket.remotePort,
      });
    }
    // An unread body would hold the connection.
    request.resume();
    if (answer.stream !== undefined && request.method !== 'HEAD') {
      response.writeHead(answer.status, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      answer.stream(response);
      return;
    }
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, {
      'content-type': answer.type ?? 'text/plain; charset=utf-8',
      'content-length': body.length,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...answer.headers,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  };

/** The body of a request; undefined where it is larger than the page takes. */
const bodyOf = async (request: IncomingMessage, most: number): Promise<string | undefined> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    const bytes = part as Buffer;
    size += bytes.length;
    // The rest is read and dropped, so that the client gets the answer; the time limit of requests ends it.
    if (size > most) parts.length = 0;
    else parts.push(bytes);
  }
  return size > most ? undefined : Buffer.concat(parts).toString();
};

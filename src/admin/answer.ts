import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatheredBytes } from '../gatheredBytes.ts';
import type { Logger } from '../telemetry/index.ts';
import { problem } from './api/problem.ts';
import type { AdminAct } from './contract.ts';
import { text, type AdminCaller, type Answer, type Page } from './page.ts';
import { reading } from './reading.ts';
import { routerOf } from './router.ts';

/** The judgement about a request: it is refused, or it is that of a caller. */
export type Admission =
  | { readonly refused: Answer; readonly caller?: AdminCaller | undefined }
  | { readonly caller: AdminCaller | undefined };

export interface ServeOptions {
  readonly pages: readonly Page[];
  readonly log: Logger;
  /** Asked before the page; absent: the pages are open to everyone. */
  readonly admit?: (request: IncomingMessage, page: Page | undefined) => Admission;
  /** Hears of each request that changes something, or tried to. */
  readonly acted?: ((act: AdminAct) => void) | undefined;
  /** Counts an answer; the page is undefined where there is none for the path and the method. */
  readonly count?: (method: string, page: Page | undefined, status: number) => void;
}

/** Paths whose refusals and errors are problem documents. */
export const isApi = (path: string): boolean => path.startsWith('/api/');

/** A refusal or an error, in the form of the path. */
export const failure = (path: string, status: number, detail: string): Answer =>
  isApi(path) ? problem({ status, detail }) : text(status, detail);

/** The request handler for a table of pages. Never rejects. */
export function serve({
  pages,
  log,
  admit,
  acted,
  count,
}: ServeOptions): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const route = routerOf(pages);
  const respond = async (request: IncomingMessage, path: string, query: string) => {
    const { method = '', headers } = request;
    const found = route(method, path);
    const page = found !== undefined && 'page' in found ? found.page : undefined;
    const admission = admit?.(request, page) ?? { caller: undefined };
    const { caller } = admission;
    if ('refused' in admission) return { answer: admission.refused, page, caller };
    if (found === undefined) return { answer: failure(path, 404, 'not found'), page, caller };
    if ('allow' in found)
      return {
        answer: { ...failure(path, 405, 'method not allowed'), headers: { allow: found.allow } },
        page,
        caller,
      };
    const { maxBody, answer } = found.page;
    const body = maxBody === undefined ? '' : await bodyOf(request, maxBody);
    if (body === undefined)
      return { answer: failure(path, 413, `the body may have ${maxBody ?? 0} bytes`), page, caller };
    const { parameters } = found;
    const asked = { method, query: new URLSearchParams(query), parameters, headers, body, caller };
    return { answer: await answer(asked), page, caller };
  };
  return async (request, response) => {
    const { url = '' } = request;
    const [path = ''] = url.split('?', 1);
    // A query may hold further question marks (RFC 3986 §3.4), such as those of an expression.
    const query = url.slice(path.length + 1);
    let end: { readonly answer: Answer; readonly page?: Page | undefined; caller?: AdminCaller | undefined };
    try {
      end = await respond(request, path, query);
    } catch (error) {
      log.error('Admin page failed', { path, reason: String(error) });
      end = { answer: failure(path, 500, 'internal error') };
    }
    const { answer, page, caller } = end;
    count?.(request.method ?? '', page, answer.status);
    if (acted !== undefined && isAct(request, page)) acted(actOf(request, answer.status, caller));
    // An unread body would hold the connection.
    request.resume();
    if (answer.stream !== undefined && request.method !== 'HEAD') {
      response.writeHead(answer.status, { ...common, 'content-type': 'text/event-stream' });
      answer.stream(response);
      return;
    }
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, {
      'content-type': answer.type ?? 'text/plain; charset=utf-8',
      'content-length': body.length,
      ...common,
      ...answer.headers,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}

const common = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** A request that changes something, or tried to. A login is one, too: it opens a session. */
const isAct = ({ method = '' }: IncomingMessage, page: Page | undefined): boolean =>
  page?.access === 'login' || (!reading.has(method) && page?.readsOnly !== true);

function actOf(
  { method = '', url = '', socket }: IncomingMessage,
  status: number,
  caller: AdminCaller | undefined,
): AdminAct {
  const { address, port } = caller?.client ?? { address: socket.remoteAddress, port: socket.remotePort };
  const user = caller && `${caller.role} (${caller.name ?? caller.session?.label ?? caller.by})`;
  return { method, target: url.replace(/([?&]code=)[^&]*/, '$1…'), status, address, port, user };
}

/** The body of a request; undefined where it is larger than the page takes. */
const bodyOf = async (request: IncomingMessage, most: number): Promise<string | undefined> => {
  let gathered = new GatheredBytes();
  let size = 0;
  for await (const part of request) {
    const bytes = part as Buffer;
    size += bytes.length;
    // The rest is read and dropped, so that the client gets the answer; the time limit of requests ends it.
    if (size > most) gathered = new GatheredBytes();
    else gathered.add(bytes);
  }
  return size > most ? undefined : gathered.whole().toString();
};

import { gather } from '../gatheredBytes.ts';
import type { GatewayViews } from '../admin/index.ts';

const mostBytes = 262_144;

/**
 * A `fetch` for addresses of the gateway itself: the request enters the data plane in this process. It follows no
 * redirect, and reads no more than 256 KiB.
 * @param route id of the route at whose port the requests enter
 */
export const playedFetch =
  (play: GatewayViews['play'], route: string): typeof fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { method = 'GET', body, signal } = init ?? {};
    const answer = await play(
      {
        route,
        method,
        path: url.pathname + url.search,
        headers: { ...Object.fromEntries(new Headers(init?.headers)), host: url.host },
        body: body instanceof URLSearchParams || typeof body === 'string' ? body.toString() : undefined,
      },
      signal ?? AbortSignal.timeout(timeoutMs),
    );
    if ('refusal' in answer) throw new Error(answer.refusal);
    const bytes = await gather(
      answer.body,
      mostBytes,
      () => new Error(`the answer is larger than ${mostBytes} bytes`),
    );
    const headers = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
      [value ?? []].flat().map((line) => [name, line]),
    );
    const isEmpty = bytes.length === 0 || [204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : bytes, { status: answer.status, headers });
  };

const timeoutMs = 10_000;

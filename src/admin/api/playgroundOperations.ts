import { isUtf8 } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import { messageOf } from '../../errorText.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import type { GatewayViews, PlayedRequest } from '../contract.ts';
import { operation, streamOperation, type ApiOperation, type ApiRequest } from './operation.ts';
import { ApiProblem } from './problem.ts';
import * as shapes from './shapes.ts';

/** Requests under way at a time. */
const mostRequests = 16;
/** Bytes of a response. */
const mostBody = 8_388_608;
/** Bytes of a request, in JSON. */
const mostRequest = 16_777_216;

type PlayRequest = ApiRequest<z.output<typeof shapes.playRequest>>;

/** A request under way. */
interface Play {
  readonly response: PlayedRequest;
  readonly startedAt: number;
  /** Frees its place. */
  end(): void;
}

const parameters = { route: 'Id of the route, as `GET /api/v1/routes` has it, percent-encoded.' };
const refusals = {
  404: 'no route has the id',
  422: 'the request cannot be sent',
  502: 'the data plane gave no response',
  503: 'too many requests are under way',
};

/** The operations that send requests of the operator through the data plane. */
export function playgroundOperations(gateway: GatewayViews): readonly ApiOperation[] {
  let underWay = 0;
  const begin = async ({ parameters: { route = '' }, body: asked }: PlayRequest): Promise<Play> => {
    if (underWay >= mostRequests)
      throw new ApiProblem(503, 'too many requests of the playground are under way');
    underWay++;
    const aborted = new AbortController();
    // A request that waits must not keep a gateway alive that is shutting down.
    const timer = setTimeout(() => aborted.abort(), asked.timeoutMs).unref();
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      underWay--;
      clearTimeout(timer);
      aborted.abort();
    };
    const startedAt = performance.now();
    try {
      const { method, path, headers, body } = asked;
      const response = await gateway.play({ route, method, path, headers, body }, aborted.signal);
      if ('refusal' in response) throw new ApiProblem(response.status, response.refusal);
      return { response, startedAt, end };
    } catch (error) {
      const timedOut = !ended && aborted.signal.aborted;
      end();
      if (error instanceof ApiProblem) throw error;
      throw new ApiProblem(502, timedOut ? 'no response came in time' : messageOf(error));
    }
  };
  const common = {
    access: 'operator',
    parameters,
    refusals,
    body: shapes.playRequest,
    maxBody: mostRequest,
  } as const;
  return [
    operation({
      ...common,
      method: 'POST',
      path: '/api/v1/playground/{route}',
      about: 'sends a request to a route, as a client on this machine would, and shows the response',
      result: shapes.played,
      run: async (request) => {
        const { response, startedAt, end } = await begin(request);
        try {
          const gathered = new GatheredBytes();
          const truncated = await read(response, (part) => gathered.add(part));
          const body = gathered.whole();
          const encoding: 'utf8' | 'base64' = isUtf8(body) ? 'utf8' : 'base64';
          return {
            status: response.status,
            headers: headersOf(response),
            body: body.toString(encoding),
            encoding,
            truncated,
            ms: performance.now() - startedAt,
            requestId: response.requestId,
          };
        } finally {
          end();
        }
      },
    }),
    streamOperation({
      ...common,
      method: 'POST',
      path: '/api/v1/playground/{route}/stream',
      about:
        'the same, as server-sent events: `head` with status, headers and requestId, `data` with a text for each part of the body, and `end` with ms and truncated',
      run: async (request) => {
        const play = await begin(request);
        return { status: 200, body: '', stream: (response) => void passOn(play, response) };
      },
    }),
  ];
}

/** Reads a body. @returns true where its end is missing */
async function read({ body }: PlayedRequest, take: (part: Buffer) => void): Promise<boolean> {
  let length = 0;
  try {
    for await (const part of body) {
      length += part.length;
      if (length > mostBody) return true;
      take(part);
    }
    return false;
  } catch {
    // Its time is over, or the data plane cut it off.
    return true;
  }
}

/** Sends a response while it arrives, and ends the request. Never rejects. */
async function passOn({ response, startedAt, end }: Play, to: ServerResponse): Promise<void> {
  const send = (event: string, data: object): void =>
    void to.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  try {
    to.once('close', end);
    // The client may have left before the head arrived, and then `close` comes no more.
    if (to.destroyed) return;
    const { status, requestId } = response;
    send('head', { status, headers: headersOf(response), requestId });
    const text = new TextDecoder();
    const truncated = await read(response, (part) =>
      send('data', { text: text.decode(part, { stream: true }) }),
    );
    send('end', { ms: performance.now() - startedAt, truncated });
    to.end();
  } finally {
    end();
  }
}

const headersOf = ({ headers }: PlayedRequest): Record<string, string | readonly string[]> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

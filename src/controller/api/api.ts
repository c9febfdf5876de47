import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { gather } from '../../gatheredBytes.ts';
import type { Counter, Metrics } from '../../telemetry/index.ts';
import type { Access } from './access.ts';
import { ApiError } from './apiError.ts';
import { ItemReader } from './items.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The format in which the server reads a PATCH. */
export const patchTypes = {
  merge: 'application/merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export interface Call {
  readonly method?: Method;
  readonly path: string;
  /** Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON, which is YAML too. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Another form of the answer than the objects as JSON. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** For the whole answer, or with `open` until its head. */
  readonly timeoutMs?: number;
}

export interface KubeApiOptions {
  readonly access: Access;
  readonly metrics: Metrics;
  readonly userAgent: string;
  readonly timeoutMs?: number;
  /** Largest answer that is read whole. A page of 500 of the largest objects that etcd holds would be over it. */
  readonly maxBodyBytes?: number;
}

const maxErrorBytes = 65_536;
const keepAliveMs = 20_000;

/**
 * Requests to the API server. Knows nothing of kinds: paths come from `resource.ts`.
 *
 * Every failure to answer with a success is an `ApiError`; everything else that is thrown is the network's.
 */
export class KubeApi {
  readonly #access: Access;
  readonly #requests: Counter;
  readonly #userAgent: string;
  readonly #timeoutMs: number;
  readonly #maxBodyBytes: number;

  constructor({ access, metrics, userAgent, timeoutMs = 30_000, maxBodyBytes = 256 << 20 }: KubeApiOptions) {
    this.#access = access;
    this.#userAgent = userAgent;
    this.#timeoutMs = timeoutMs;
    this.#maxBodyBytes = maxBodyBytes;
    this.#requests = metrics.counter(
      'kube_api_requests_total',
      'Requests to the Kubernetes API server; code is the status, or failed where there was no answer',
      ['method', 'code'],
    );
  }

  /** The namespace of the credentials. */
  get namespace(): string | undefined {
    return this.#access.namespace;
  }

  /** Sends a request and reads the whole JSON answer. @throws ApiError */
  async request(call: Call): Promise<unknown> {
    const timeoutMs = call.timeoutMs ?? this.#timeoutMs;
    // The limit covers head and body together: an answer that trickles in must not hold its caller for ever.
    const { signal, done } = limited(call.signal, timeoutMs);
    try {
      const response = await this.#send(call, signal);
      const text = await readWhole(response, this.#maxBodyBytes);
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw reasonOf(signal, error);
    } finally {
      done();
    }
  }

  /**
   * Sends a request for a list, and passes on one item after the other while it arrives.
   *
   * @param each gets the JSON text of an item
   * @returns the list without its items
   * @throws ApiError, ListBroken, and what `each` throws
   */
  async list(call: Call, maxItemBytes: number, each: (text: string) => void): Promise<unknown> {
    const { signal, done } = limited(call.signal, call.timeoutMs ?? this.#timeoutMs);
    let response: IncomingMessage | undefined;
    try {
      response = await this.#send(call, signal);
      const reader = new ItemReader(maxItemBytes, each);
      for await (const chunk of response as AsyncIterable<Buffer>) reader.take(chunk);
      return reader.envelope();
    } catch (error) {
      throw reasonOf(signal, error);
    } finally {
      response?.destroy();
      done();
    }
  }

  /**
   * Sends a request and returns with the head of a successful answer; the body is the caller's to read or destroy.
   *
   * @throws ApiError
   */
  async open(call: Call): Promise<IncomingMessage> {
    const { signal, done } = limited(call.signal, call.timeoutMs ?? this.#timeoutMs);
    try {
      const response = await this.#send(call, signal);
      // The time limit ends with the head; the caller's own signal must reach the body, too.
      const end = (): void => void response.destroy();
      call.signal?.addEventListener('abort', end, { once: true });
      response.once('close', () => call.signal?.removeEventListener('abort', end));
      if (call.signal?.aborted === true) end();
      return response;
    } catch (error) {
      throw reasonOf(signal, error);
    } finally {
      done();
    }
  }

  /** Ends the connections; requests under way fail. */
  close(): void {
    this.#access.close();
  }

  async #send(call: Call, signal: AbortSignal): Promise<IncomingMessage> {
    const method = call.method ?? 'GET';
    try {
      const options = await this.#access.options();
      signal.throwIfAborted();
      const response = await this.#exchange(method, call, options, signal);
      this.#requests.add({ method, code: String(response.statusCode) });
      if (response.statusCode !== undefined && response.statusCode >= 200 && response.statusCode < 300)
        return response;
      throw await this.#refusal(response);
    } catch (error) {
      if (!(error instanceof ApiError) && !signal.aborted) this.#requests.add({ method, code: 'failed' });
      throw error;
    }
  }

  async #exchange(
    method: Method,
    call: Call,
    options: RequestOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { server } = this.#access;
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const send = server.protocol === 'https:' ? httpsRequest : httpRequest;
    return await new Promise((resolve, reject) => {
      const request = send(
        new URL(server.pathname.replace(/\/$/, '') + call.path + queryText(call), server),
        {
          ...options,
          method,
          signal,
          headers: {
            ...options.headers,
            accept: call.accept ?? 'application/json',
            'user-agent': this.#userAgent,
            ...(body === undefined
              ? {}
              : {
                  'content-type': call.contentType ?? 'application/json',
                  'content-length': String(body.length),
                }),
          },
        },
      );
      // The kernel asks a silent peer, so that a connection to a server that vanished ends.
      request.on('socket', (socket) => socket.setKeepAlive(true, keepAliveMs));
      request.on('response', resolve);
      request.on('error', reject);
      request.end(body);
    });
  }

  async #refusal(response: IncomingMessage): Promise<ApiError> {
    const status = response.statusCode ?? 0;
    if (status === 401) this.#access.refused();
    const text = await readWhole(response, maxErrorBytes).catch(() => '');
    const fallback = {
      status,
      message: `the API server answered ${String(status)} ${text.slice(0, 200)}`.trim(),
    };
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // A proxy on the way may answer in its own words.
    }
    const error = ApiError.fromStatus(value, fallback);
    const seconds = Number(response.headers['retry-after']);
    // The status line decides: a body may say anything.
    return new ApiError(
      status,
      error.reason,
      error.message,
      error.retryAfterMs ?? (Number.isFinite(seconds) ? seconds * 1_000 : undefined),
    );
  }
}

function queryText({ query = {} }: Call): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** A signal that ends with the given one or after a time, until it is done. */
function limited(outer: AbortSignal | undefined, ms: number): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new Error(`the API server did not answer within ${String(ms)} ms`)),
    ms,
  );
  const onAbort = (): void => controller.abort(outer?.reason);
  outer?.addEventListener('abort', onAbort, { once: true });
  if (outer?.aborted === true) onAbort();
  return {
    signal: controller.signal,
    done: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', onAbort);
    },
  };
}

/** The reason why a request was given up says more than that it was. */
const reasonOf = (signal: AbortSignal, error: unknown): unknown =>
  signal.aborted && signal.reason instanceof Error ? signal.reason : error;

async function readWhole(response: IncomingMessage, maxBytes: number): Promise<string> {
  const bytes = await gather(response as AsyncIterable<Buffer>, maxBytes, () => {
    response.destroy();
    return new Error(`an answer of the API server is larger than ${String(maxBytes)} bytes`);
  });
  return bytes.toString('utf8');
}

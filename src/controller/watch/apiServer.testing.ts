import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { createMetrics } from '../../telemetry/index.ts';
import { KubeApi } from '../api/api.ts';
import { accessTo } from '../api/localServer.testing.ts';

/** A request that came in. */
export interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
}

export type Answer = (response: ServerResponse, asked: Asked) => void;

/** A server that says what a real API server never would when asked to, and the client that talks to it. */
export interface ScriptedServer {
  readonly api: KubeApi;
  readonly asked: Asked[];
  /** The next requests in their order; the last answer stays. */
  readonly answers: { list: Answer[]; watch: Answer[] };
}

export async function scriptedServer(t: TestContext): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const answers: ScriptedServer['answers'] = { list: [], watch: [] };
  const access = await accessTo(t, (request, response) => {
    const url = new URL(request.url ?? '', 'http://server');
    const one = { path: url.pathname, query: url.searchParams, request };
    asked.push(one);
    const queue = url.searchParams.has('watch') ? answers.watch : answers.list;
    const answer = queue.length > 1 ? queue.shift() : queue[0];
    if (answer === undefined) response.destroy();
    else answer(response, one);
  });
  const metrics = createMetrics({ process: false });
  return { api: new KubeApi({ access, metrics, userAgent: 'test' }), asked, answers };
}

export const configMap = (name: string, version: number, namespace = 'default'): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, resourceVersion: String(version), managedFields: [{ manager: 'somebody' }] },
  data: { version: String(version) },
});

/** A page of a list. */
export const page =
  (items: readonly object[], version: number, next?: string): Answer =>
  (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        kind: 'List',
        metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
        items,
      }),
    );
  };

export const refusal =
  (code: number, reason: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(code, headers);
    response.end(JSON.stringify({ kind: 'Status', code, reason, message: reason }));
  };

export const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

/** A watch that says this and then either stays open or ends. */
export const watch =
  (text: string, ends = false): Answer =>
  (response) => {
    response.writeHead(200);
    response.flushHeaders();
    if (text !== '') response.write(text);
    if (ends) response.end();
  };

/** An HTTP API on loopback that records its requests, and descriptions of it, for tests. */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { OpenApiTarget, OperationChoice } from '../../../model/index.ts';
import { describeApi } from '../description/describe.ts';

export interface ApiCallSeen {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ApiReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The answer never comes. */
  readonly silent?: true;
  /** The answer stops before its end. */
  readonly unfinished?: true;
}

export interface TestApi extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly seen: readonly ApiCallSeen[];
  /** Requests whose client has gone before the answer. */
  readonly aborted: () => number;
  /** Answers the requests from now on. */
  answer: (call: ApiCallSeen) => ApiReply;
}

/** Starts one on a free port. */
export async function startApi(answer: TestApi['answer'] = () => ({})): Promise<TestApi> {
  const seen: ApiCallSeen[] = [];
  let aborted = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    response.on('close', () => {
      if (!response.writableFinished) aborted++;
    });
    request.on('end', () => {
      const { method = '', url: target = '', headers } = request;
      const call: ApiCallSeen = { method, target, headers, body: Buffer.concat(parts) };
      seen.push(call);
      const { status = 200, headers: fields = {}, body = '', silent, unfinished } = api.answer(call);
      if (silent === true) return;
      response.writeHead(status, fields).write(body);
      if (unfinished !== true) response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const api: TestApi = {
    port,
    url: `http://127.0.0.1:${port}`,
    seen,
    aborted: () => aborted,
    answer,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return api;
}

/** An answer in JSON. */
export const jsonReply = (value: unknown, status = 200): ApiReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

const testdata = (name: string): string => readFileSync(join(import.meta.dirname, 'testdata', name), 'utf8');

export const petstoreText = testdata('petstore-3.0.yaml');
export const tasksText = testdata('tasks-3.1.json');

/** A target that serves an API on loopback, as a text describes it. */
export function apiTarget(
  port: number,
  text: string,
  settings: Partial<OpenApiTarget> = {},
  choice: OperationChoice = {},
): OpenApiTarget {
  return {
    kind: 'openapi',
    name: 'shop',
    host: '127.0.0.1',
    port,
    path: '/',
    ...(settings.path === undefined ? { usesServerPath: true } : {}),
    source: { kind: 'read', ...describeApi(text, choice) },
    ...settings,
  };
}

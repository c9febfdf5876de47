/** Requests to the admin API. The cookie of the session goes with them by itself. */

import type { Problem } from './types.ts';

/** An answer of the admin API that is no success. */
export class ApiError extends Error {
  readonly status: number;
  readonly problem: Problem;

  constructor(status: number, problem: Problem) {
    super(problem.detail ?? problem.title);
    this.status = status;
    this.problem = problem;
  }
}

/** Every change carries it; a page of another site cannot read it. */
let writeToken = '';

/** Keeps the token that the session gave out. */
export const keepWriteToken = (token: string): void => {
  writeToken = token;
};

export interface Change {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A gateway that takes longer to answer a reading does not answer. In milliseconds. */
const readLimitMs = 10_000;

/**
 * Asks a page of the admin API.
 * @param path below `/api/v1/`
 * @returns the JSON of the answer, undefined where it has no body; its shape is that of the row in `src/admin`
 * @throws ApiError for an answer that is no success
 * @param signal ends the request
 * @throws TypeError where the gateway cannot be reached, DOMException `TimeoutError` where it does not answer a reading
 */
export async function ask<T>(path: string, change?: Change, signal?: AbortSignal): Promise<T> {
  const ends = change === undefined ? AbortSignal.timeout(readLimitMs) : signal;
  const response = await openAnswer(path, change, ends);
  const text = await response.text();
  // The gateway checks its answers against the same rows in its tests.
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/**
 * Asks a page of the admin API, and leaves the body of the answer to the caller.
 * @param signal ends the request
 * @throws ApiError for an answer that is no success
 */
export async function openAnswer(path: string, change?: Change, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(`/api/v1/${path}`, {
    method: change?.method ?? 'GET',
    headers:
      change === undefined
        ? {}
        : { 'content-type': 'application/json', 'x-portcullis-write': writeToken, ...change.headers },
    ...(change?.body === undefined ? {} : { body: JSON.stringify(change.body) }),
    ...(signal && { signal }),
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** Reads an answer that is no success. */
export async function refusalOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  const problem = /\bjson\b/.test(response.headers.get('content-type') ?? '')
    ? (JSON.parse(text) as Problem)
    : {
        type: 'about:blank',
        title: `The gateway answered ${response.status}`,
        status: response.status,
        detail: text.trim(),
      };
  return new ApiError(response.status, problem);
}

/** Explanations of requests, and values of expressions. The gateway's own compiled snapshot answers both. */

import { ask } from './client.ts';
import type { CelAnswer, Decision } from './types.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface WrittenRequest {
  /** As on the wire. */
  readonly request: string;
  /** In place of a token. */
  readonly claims?: Claims;
}

/** Explains what the gateway would do with a request. @throws ApiError for a text that is no request */
export const explain = (request: WrittenRequest): Promise<Decision> =>
  ask<Decision>('why', { method: 'POST', body: request });

/** Evaluates an expression about a request. */
export const evaluate = (expression: string, request: WrittenRequest): Promise<CelAnswer> =>
  ask<CelAnswer>('cel', { method: 'POST', body: { expression, ...request } });

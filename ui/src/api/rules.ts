/** Explanations of requests, and values of expressions. The gateway's own compiled snapshot answers both. */

import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { ask } from './client.ts';
import type { CelAnswer, Decision, ExpressionWords, RuleInUse } from './types.ts';

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

/** Judges an expression without a request. */
export const judgeExpression = (expression: string, signal: AbortSignal): Promise<CelAnswer> =>
  ask<CelAnswer>('cel', { method: 'POST', body: { expression } }, signal);

/** Variables and functions of expressions; they are those of the program of the gateway. */
export const useExpressionWords = (): UseQueryResult<ExpressionWords> =>
  useQuery({ queryKey: ['cel'], queryFn: () => ask<ExpressionWords>('cel'), staleTime: Infinity });

/** A rule in use with another expression. */
export type ChangedRule = Pick<RuleInUse, 'place' | 'expression'>;

/**
 * The same with all rules of the route, of which one is changed for this request.
 * @throws ApiError where the route has no such rule, or a rule cannot have the expression
 */
export const judge = (request: WrittenRequest, rule: ChangedRule): Promise<Decision> =>
  ask<Decision>('why', { method: 'POST', body: { ...request, rule } });

/** The rules of the configuration in use. */
export const useRules = (): UseQueryResult<readonly RuleInUse[]> =>
  useQuery({ queryKey: ['rules'], queryFn: () => ask<readonly RuleInUse[]>('rules') });

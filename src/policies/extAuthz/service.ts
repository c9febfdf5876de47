import { GatewayError, type ErrorCode } from '../../errors.ts';
import { reasonOf } from '../grpcServer.ts';
import type { Exchange } from '../policy.ts';
import type { Decision } from './decision.ts';

/** A service that decides about requests. */
export interface Service {
  /** Its address, for logs. */
  readonly name: string;
  /** Headers that the backend gets from the service or not at all, in lower case. */
  readonly ownHeaders: readonly string[];
  /**
   * Asks for a decision. It reads the request before it waits.
   * @param body of the request; undefined where the service gets none
   * @throws NoDecision where the service was not asked, or did not answer; another error for an answer that is no decision
   */
  decide(exchange: Exchange, body: Buffer | undefined): Promise<Decision>;
}

/** The service gives no decision; the reason holds no value of the request. */
export class NoDecision extends Error {
  override readonly name = 'NoDecision';
}

/** Does a status decide about a request? A service that fails has decided nothing. */
export const isDecision = (status: number): boolean => status >= 200 && status < 500;

/** Failures that an answer of the service brings about. */
const byAnswer: ReadonlySet<ErrorCode> = new Set(['upstream_protocol', 'upstream_too_large']);

/**
 * The error of a call that has failed. An answer that is not whole may be a refusal.
 * @param status of the answer, where it has come and says whether the request may pass
 */
export function failed(cause: unknown, status?: number): Error {
  const isAnswer =
    status === undefined ? cause instanceof GatewayError && byAnswer.has(cause.code) : isDecision(status);
  const reason = reasonOf(cause);
  return isAnswer ? new Error(reason, { cause }) : new NoDecision(reason, { cause });
}

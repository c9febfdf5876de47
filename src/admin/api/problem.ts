import { STATUS_CODES } from 'node:http';
import type { Answer } from '../page.ts';

/** A place in a text; `line` and `column` count from 1. */
export interface ProblemPlace {
  readonly line: number;
  readonly column: number;
  /** Field path, such as `binds[0].port`. */
  readonly path?: string | undefined;
}

export interface ProblemDetails {
  readonly status: number;
  readonly detail: string;
  readonly place?: ProblemPlace | undefined;
  /** Several faults, each with its place. */
  readonly problems?: readonly object[] | undefined;
}

/** A problem document (RFC 9457). Its type is that of the status code. */
export const problem = ({ status, detail, place, problems }: ProblemDetails): Answer => ({
  status,
  type: 'application/problem+json',
  body: `${JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail, place, problems }, null, 2)}\n`,
});

/** A refusal of an operation, which answers with a problem document. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly details: ProblemDetails;

  constructor(status: number, detail: string, more: Pick<ProblemDetails, 'place' | 'problems'> = {}) {
    super(detail);
    this.details = { status, detail, ...more };
  }
}

import { isRecord } from './object.ts';

/** The API server answered, and not with a success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status, or the code of a `Status` object inside a watch. */
  readonly status: number;
  /** The API's word for it: `NotFound`, `Conflict`, `Expired`, … */
  readonly reason: string;
  /** The time that the server asked us to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }

  /** From a `Status` object (of a watch, or the body of an answer). */
  static fromStatus(
    value: unknown,
    fallback: { readonly status: number; readonly message: string },
  ): ApiError {
    if (!isRecord(value)) return new ApiError(fallback.status, '', fallback.message);
    const { code, reason, message, details } = value;
    const seconds = isRecord(details) ? details['retryAfterSeconds'] : undefined;
    return new ApiError(
      typeof code === 'number' ? code : fallback.status,
      typeof reason === 'string' ? reason : '',
      typeof message === 'string' ? message : fallback.message,
      typeof seconds === 'number' ? seconds * 1_000 : undefined,
    );
  }
}

const hasStatus =
  (status: number) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.status === status;

export const isNotFound = hasStatus(404);
export const isConflict = hasStatus(409);
/** The asked-for version is compacted away: only a new list helps. */
export const isExpired = hasStatus(410);

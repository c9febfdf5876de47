/**
 * Why something failed, also where the error itself does not say: `fetch failed` has a cause, and where a name has several
 * addresses each has an error of its own.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${reasonOf(error.cause)}` : error.message;
}

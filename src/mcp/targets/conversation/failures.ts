/** The failures of a server over the network, as the client of the session hears them. */

import { GatewayError, type ErrorCode } from '../../../errors.ts';
import type { Reach } from '../../contract.ts';
import { targetError } from '../../messages/rpcError.ts';

type TargetCode = ErrorCode & `mcp_${string}`;

const failures: Partial<Record<ErrorCode, readonly [TargetCode, string]>> = {
  upstream_connect_failed: ['mcp_target_unreachable', 'cannot be reached'],
  upstream_tls_failed: ['mcp_target_unreachable', 'cannot be reached: TLS with it fails'],
  upstream_unhealthy: ['mcp_target_unreachable', 'cannot be reached: none of its addresses works'],
  upstream_overloaded: ['mcp_target_unreachable', 'has no connection free'],
  upstream_timeout: ['mcp_target_timeout', 'did not answer in time'],
  upstream_reset: ['mcp_target_failed', 'closed the connection before its answer was complete'],
  upstream_protocol: ['mcp_target_failed', 'answered with something that is not HTTP'],
};

/** @param detail for the log */
export function connectionError(target: string, code: ErrorCode, detail: string): GatewayError {
  const [known, what] = failures[code] ?? (['mcp_target_failed', 'could not be asked'] as const);
  return targetError(known, target, what, `${code}: ${detail}`);
}

const statuses: Readonly<Record<number, readonly [TargetCode, string]>> = {
  401: ['mcp_target_refused', 'does not take the credentials of the gateway'],
  403: ['mcp_target_refused', 'does not allow the gateway to do this'],
  404: ['mcp_target_failed', 'has no MCP endpoint where it was looked for'],
  405: ['mcp_target_failed', 'has no MCP endpoint where it was looked for'],
  429: ['mcp_target_busy', 'has too many requests'],
};

/** An answer of a server whose status says that something is wrong. */
export class StatusError extends GatewayError {
  /** The status of the answer. */
  readonly status: number;

  constructor(status: number, code: TargetCode, options: ConstructorParameters<typeof GatewayError>[1]) {
    super(code, options);
    this.status = status;
  }
}

/** Statuses of servers that do not understand a request. A proxy gives others where its server is away. */
const notUnderstood: ReadonlySet<number> = new Set([400, 422]);

/** Did a server of the other era refuse the request, as far as the status tells? */
export const isNotUnderstood = (error: GatewayError): boolean =>
  error instanceof StatusError && notUnderstood.has(error.status);

/**
 * @param detail for the log: what stood in the answer
 * @param retryAfter the field of that name in the answer (RFC 9110 §10.2.3)
 */
export function statusError(
  target: string,
  status: number,
  detail: string,
  retryAfter?: string,
): StatusError {
  const [code, what] = statuses[status] ?? (['mcp_target_failed', `answered with status ${status}`] as const);
  const said = `status ${status}${detail === '' ? '' : `: ${detail}`}`;
  const { message, retryAfter: seconds } = targetError(code, target, what, said, secondsOf(retryAfter));
  return new StatusError(status, code, {
    message,
    detail: said,
    ...(seconds !== undefined && { retryAfter: seconds }),
  });
}

/** A number of seconds, or a date; undefined where it is neither. */
function secondsOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter);
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1_000));
}

/** Shorter texts are no credentials, and would be found everywhere. */
const shortest = 6;

/** The server's text for the log, without the fields and the query that policies put into the request. */
export function withoutSecrets(text: string, { headers, path }: Pick<Reach, 'headers' | 'path'>): string {
  const query = path.includes('?') ? path.slice(path.indexOf('?') + 1) : '';
  let rest = text;
  for (const value of [...headers.map(([, one]) => one), query])
    for (const part of [value, ...value.split(/[\s;=&]+/)])
      if (part.length >= shortest) rest = rest.replaceAll(part, '…');
  return rest;
}

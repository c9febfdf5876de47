/** Tells the era of a server by its answer to the first request (2026-07-28, Versioning and Compatibility). */

import type { GatewayError } from '../../../errors.ts';
import type { Envelope } from '../../json/envelope.ts';
import { errorCodeOf } from '../../json/errorMember.ts';
import type { Era } from '../../messages/eras.ts';
import { modernErrors } from '../../messages/eras.ts';
import { StatusError } from '../conversation/failures.ts';
import { NotModernError } from './discovery.ts';

/** The answer to the first request of a session: a response, or a failure. */
export type Opening = { readonly response: Envelope } | { readonly error: GatewayError };

/** `none`: the answer says nothing about the era. */
export type EraSign = 'spoken' | 'refused' | 'none';

/** Errors with which servers of the modern era alone refuse `initialize`: the codes are left to them. */
const refusals: ReadonlySet<number> = new Set([
  modernErrors.headerMismatch,
  modernErrors.unsupportedVersion,
  -32600,
  -32601,
  -32602,
]);
const refusalStatuses: ReadonlySet<number> = new Set([400, 404, 405]);

/** Statuses of the client's side that concern credentials or load, and no method. */
const neutralStatuses: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429]);

function signOfInitialize(opening: Opening): EraSign {
  if ('error' in opening)
    return opening.error instanceof StatusError && refusalStatuses.has(opening.error.status)
      ? 'refused'
      : 'none';
  if (!opening.response.isError) return 'spoken';
  return refusals.has(errorCodeOf(opening.response) ?? 0) ? 'refused' : 'none';
}

/** @param isChild the server is a child process: one that dies of an unknown request is one of the legacy era */
function signOfDiscover(opening: Opening, isChild: boolean): EraSign {
  // Servers of the legacy era answer an unknown request with whatever error they like.
  if ('response' in opening) return opening.response.isError ? 'refused' : 'spoken';
  const { error } = opening;
  if (error instanceof NotModernError) return 'refused';
  if (error instanceof StatusError) {
    const { status } = error;
    return status >= 400 && status < 500 && !neutralStatuses.has(status) ? 'refused' : 'none';
  }
  const isServers = error.code === 'mcp_target_failed' || error.code === 'mcp_target_timeout';
  return isChild && isServers ? 'refused' : 'none';
}

/** @param era the era in which the server was asked */
export const signOf = (opening: Opening, era: Era, isChild: boolean): EraSign =>
  era === 'legacy' ? signOfInitialize(opening) : signOfDiscover(opening, isChild);

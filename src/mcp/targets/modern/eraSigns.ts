/** Tells the era of a server by its answer to the first request (2026-07-28, Versioning and Compatibility). */

import { errorCodeOf } from '../../json/errorMember.ts';
import type { Era } from '../../messages/eras.ts';
import { modernErrors } from '../../messages/eras.ts';
import { isNotUnderstood, StatusError } from '../conversation/failures.ts';
import type { Opening } from '../kind/target.ts';
import { NotModernError } from './discovery.ts';

/**
 * `doubted`: the server lacks the era, unless it has spoken the era before. `unclear`: the server may lack the era, or
 * this request was malformed, or the server had trouble with it. `none`: the answer says nothing about the era.
 */
export type EraSign = 'spoken' | 'refused' | 'doubted' | 'unclear' | 'none';

type Signs<Key> = ReadonlyMap<Key, EraSign>;

/** Errors with which servers of the modern era alone refuse `initialize`: the codes are left to them. */
const refusals: Signs<number | undefined> = new Map([
  [modernErrors.headerMismatch, 'refused'],
  [modernErrors.unsupportedVersion, 'refused'],
  [-32601, 'refused'],
  // Servers of both eras refuse an initialize without a member in the same way.
  [-32600, 'unclear'],
  [-32602, 'unclear'],
]);
const refusalStatuses: Signs<number> = new Map([
  [400, 'unclear'],
  [404, 'refused'],
  [405, 'refused'],
]);

/** Errors with which servers of the modern era, too, answer `server/discover`. */
const discoverErrors: Signs<number | undefined> = new Map([
  // Many servers of the legacy era answer an unknown method with this error.
  [-32602, 'doubted'],
  [-32603, 'unclear'],
]);

/** Statuses of the client's side that concern credentials or load, and no method. */
const neutralStatuses: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429]);

function signOfInitialize(opening: Opening): EraSign {
  if ('error' in opening)
    return (opening.error instanceof StatusError && refusalStatuses.get(opening.error.status)) || 'none';
  if (!opening.response.isError) return 'spoken';
  return refusals.get(errorCodeOf(opening.response)) ?? 'none';
}

/** @param isChild the server is a child process: one that dies of an unknown request is one of the legacy era */
function signOfDiscover(opening: Opening, isChild: boolean): EraSign {
  // Servers of the legacy era answer an unknown request with whatever error they like.
  if ('response' in opening)
    return opening.response.isError
      ? (discoverErrors.get(errorCodeOf(opening.response)) ?? 'refused')
      : 'spoken';
  const { error } = opening;
  if (error instanceof NotModernError) return 'refused';
  if (error instanceof StatusError) {
    const { status } = error;
    return status >= 400 && status < 500 && !neutralStatuses.has(status) ? 'refused' : 'none';
  }
  const isServers = error.code === 'mcp_target_failed' || error.code === 'mcp_target_timeout';
  // A child of both eras may be slow, or die, once.
  return isChild && isServers ? 'doubted' : 'none';
}

/** @param era the era in which the server was asked */
export const signOf = (opening: Opening, era: Era, isChild: boolean): EraSign =>
  era === 'legacy' ? signOfInitialize(opening) : signOfDiscover(opening, isChild);

/** Does a server that has spoken an era speak the other one by now? It may only be away for a while. */
export function hasChangedEra(opening: Opening, era: Era): boolean {
  const isAnswer = 'response' in opening || isNotUnderstood(opening.error);
  const sign = signOf(opening, era, false);
  return isAnswer && (sign === 'refused' || sign === 'doubted');
}

import { itemOf } from '../items/items.ts';
import { maxShown } from '../items/itemFilters.ts';
import type { Envelope } from '../json/envelope.ts';
import { handlingOf } from '../messages/mcpMethods.ts';
import type { Session } from '../session/session.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { prepareFederated } from './federatedRequest.ts';
import { faults, invalid, refusal } from './refusal.ts';
import type { Dispatch } from './dispatchContext.ts';
import { prepareOpenName } from './openName.ts';
import { callLimit, prepareForTarget, progressToken } from './targetRequest.ts';

/**
 * Judges one message of a client.
 * @returns what carries out the verdict. The messages of a batch are all judged before any is sent
 * @throws GatewayError mcp_invalid_request for a message that takes its whole POST down
 */
export function prepareMessage(x: Dispatch, message: Envelope): () => void {
  const { session } = x;
  if (message.kind === 'response') return () => session.respond(message, x.itemRules);
  x.notes.annotate('mcp.method', message.method.slice(0, maxShown));
  if (message.kind === 'request') {
    const checks = x.checksOf?.(message.method, x.notes);
    return prepareRequest(checks === undefined ? x : { ...x, checks }, message);
  }
  const handling = checkedHandling(message, session.protocolVersion, x.itemRules !== undefined);
  if (handling === 'forwarded') return () => session.notify(message, x.itemRules);
  return () => session.log.debug('Notification dropped: the protocol version does not define it');
}

/** @throws GatewayError mcp_invalid_request for a request without an id */
export function checkedHandling(
  { method }: Envelope,
  version: string | undefined,
  hasRules: boolean,
): 'forwarded' | 'dropped' {
  const handling = handlingOf(method, version, hasRules);
  if (handling === 'refused') throw invalid(`${method.slice(0, maxShown)} without an id`);
  return handling;
}

/** Sends a request to the target that serves it, unless a rule hides what it asks for. */
function prepareRequest(x: Dispatch, request: Envelope): () => void {
  const { itemRules, session } = x;
  const item = itemOf(request);
  const token = progressToken(request);
  // Without rules it is for the server to say that a request names nothing.
  if (typeof item === 'string' && (item !== 'unnamed' || itemRules !== undefined))
    return refusal(x, request, invalid(faults[item]));
  if (typeof token === 'string') return refusal(x, request, invalid(faults[token]));
  if (session.federation !== undefined) return prepareFederated(x, request, item, token);
  const target = soleTarget(session);
  const name = session.targets.nameOf(target);
  const found = typeof item === 'object' ? x.naming.ownItem(item.kind, item.name) : undefined;
  if (typeof item === 'object' && found !== undefined && !('target' in found))
    return prepareOpenName(x, { request, token, target, item }, callLimit(x, name));
  const own = found !== undefined && 'target' in found ? found.name : undefined;
  return prepareForTarget(x, { request, token, target, item, own });
}

function soleTarget(session: Session): TargetConnection {
  const { first } = session.targets;
  if (first === undefined) throw new Error('a session has at least one target');
  return first;
}

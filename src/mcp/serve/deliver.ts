import { GatewayError } from '../../errors.ts';
import type { Caller } from '../contract.ts';
import { ItemRules } from '../items/itemRules.ts';
import { namingOf } from '../items/naming.ts';
import type { Tally } from '../limits/budget.ts';
import { holderOf } from '../limits/budgets.ts';
import type { Accepted } from '../messages/accept.ts';
import { cut, memberOf, type Envelope } from '../json/envelope.ts';
import { parsedId } from '../json/parsed.ts';
import { Call } from '../session/call.ts';
import { hasBatches } from '../messages/versions.ts';
import type { CallAnswer } from '../session/callAnswer.ts';
import { PostResponse } from '../session/postResponse.ts';
import type { Session } from '../session/session.ts';
import { noteCheckRefusal } from './checkFirst.ts';
import { MessageChecks } from './checks.ts';
import { checkCalls, type ClientRequest, type HandlerOptions } from './clientRequest.ts';
import { prepareMessage } from './dispatch.ts';
import type { Dispatch } from './dispatchContext.ts';
import { BatchLine } from './messageNotes.ts';
import type { Post } from './readPost.ts';

/**
 * Sends the messages of a POST request to the targets of its session. All messages are judged before any is sent.
 * @throws GatewayError
 */
export function deliver(
  options: HandlerOptions,
  client: ClientRequest,
  accepted: Accepted,
  post: Post,
  session: Session,
): void {
  const { reply, caller } = client;
  if (post.batch && !(session.protocolVersion !== undefined && hasBatches(session.protocolVersion)))
    throw new GatewayError('mcp_invalid_request', {
      message: 'invalid request: the protocol revision of this session has no batches',
    });
  if (post.requests > 0) checkCalls(options, caller, post.requests);
  // The handshake of a client that does nothing afterwards is no use of the session.
  if (post.first?.method !== 'notifications/initialized') session.unused = false;
  const itemRules = ItemRules.of(caller, namingOf(options.settings).view);
  const ids = (): readonly string[] =>
    post.messages.flatMap(({ kind, text, idSpan }) => (kind === 'request' ? [cut(text, idSpan)] : []));
  const answer = new PostResponse(
    reply,
    accepted,
    post.requests,
    post.batch,
    session.streams,
    itemRules,
    ids,
  );
  client.audit?.follow(answer);
  const x = dispatchFor(options, client, session, answer);
  const line = post.batch ? new BatchLine(client.request) : undefined;
  const verdicts = post.messages.map((message) =>
    prepareMessage(line === undefined ? x : { ...x, notes: line.message() }, message),
  );
  const ofOthers = post.messages.filter((message) => isCancelOfAnother(session, message));
  for (const carryOut of verdicts) carryOut();
  for (const message of ofOthers) options.sessions.cancelElsewhere(session, message);
  if (post.requests > 0) {
    answer.begun();
    return;
  }
  const receipt = (): void => reply.send({ status: 202 });
  // The next message may come to another process, which does not know of a message that is still on its way here.
  const settling = session.shared ? session.settling : undefined;
  if (settling === undefined) receipt();
  else void settling.then(receipt);
}

/** Does the client take back a request that no call of this gateway has? */
function isCancelOfAnother({ targets }: Session, message: Envelope): boolean {
  if (message.method !== 'notifications/cancelled' || message.kind !== 'notification') return false;
  const place = memberOf(message.text, message.body, 'requestId');
  const id = typeof place === 'object' ? parsedId(cut(message.text, place)) : undefined;
  if (id === undefined) return false;
  for (const target of targets.values())
    for (const [, waiter] of target.calls()) if (waiter instanceof Call && waiter.id === id) return false;
  return true;
}

/** The checks of the methods that policies check. */
const checksBy =
  (
    { mcpMetrics, limits }: HandlerOptions,
    checksOf: NonNullable<Caller['checksOf']>,
    answer: CallAnswer,
  ): NonNullable<Dispatch['checksOf']> =>
  (method, notes) => {
    const checks = checksOf(method);
    if (checks.request.length === 0 && checks.result.length === 0) return undefined;
    return new MessageChecks(checks, mcpMetrics, limits(), (refusal, response) => {
      noteCheckRefusal(notes, refusal);
      answer.note?.(response, { refusal: refusal.by });
    });
  };

/** Do targets tell the caller from others? */
const hasOwnWays = ({ reach, reachesAlike, environment }: Caller): boolean =>
  environment !== undefined || (reach !== undefined && reachesAlike !== true);

/** Everything that judging and sending the messages of one POST needs. */
export function dispatchFor(
  options: HandlerOptions,
  { request: http, caller }: ClientRequest,
  session: Session,
  answer: CallAnswer,
): Dispatch {
  const { settings, mcpMetrics, budgets } = options;
  const ofRoute = caller.callTimeoutMs;
  return {
    settings,
    naming: namingOf(settings),
    session,
    answer,
    itemRules: answer.itemRules,
    ways: hasOwnWays(caller) ? caller : undefined,
    count: caller.count,
    callTime: caller.callTime,
    checksOf: caller.checksOf && checksBy(options, caller.checksOf, answer),
    http,
    notes: http,
    mcpMetrics,
    enter: (): Tally => budgets.calls.enter(holderOf(caller)),
    mostCallMs: options.limits().maxMcpCallTimeMs,
    callLimit:
      ofRoute === undefined ? { ms: options.limits().mcpCallTimeoutMs } : { ms: ofRoute, ofRoute: true },
  };
}

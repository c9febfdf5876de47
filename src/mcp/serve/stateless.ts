/**
 * `statefulMode: stateless`: no session outlives its request. Each POST begins a session of its own with the targets that
 * it needs, and ends it with its response. A client needs no session id, and one that it sends is ignored.
 */

import type { Envelope } from '../json/envelope.ts';
import { holderOf } from '../limits/budgets.ts';
import { Federation } from '../federation/federation.ts';
import { initializeAll } from '../federation/initializeAll.ts';
import { ownMessage } from '../json/ownMessage.ts';
import type { Accepted } from '../messages/accept.ts';
import { gatewayAsClient } from '../messages/gatewayAsClient.ts';
import { assumedRevision } from '../messages/mcpMethods.ts';
import { Call } from '../session/call.ts';
import { CallStats } from '../session/mcpMetrics.ts';
import { PostResponse } from '../session/postResponse.ts';
import type { Session } from '../session/session.ts';
import { checkCalls, type ClientRequest, type HandlerOptions } from './clientRequest.ts';
import { deliver } from './deliver.ts';
import { checkedHandling } from './dispatch.ts';
import type { Post } from './readPost.ts';

/** The time for the targets to leave after the response, in milliseconds. */
const endGraceMs = 3_000;

/**
 * Serves one POST.
 * @throws GatewayError
 */
export function serveStateless(
  options: HandlerOptions,
  client: ClientRequest,
  accepted: Accepted,
  post: Post,
  initialize: Envelope | undefined,
): void {
  const { request, reply, caller } = client;
  // Nothing waits for a notification or a response: their session is over.
  if (post.requests === 0) {
    const version = request.header('mcp-protocol-version') ?? assumedRevision;
    for (const message of post.messages)
      if (message.kind === 'notification') checkedHandling(message, version, false);
    reply.send({ status: 202 });
    return;
  }
  checkCalls(options, caller, post.requests);
  const session = options.sessions.open(options.settings, caller);
  session.takesRequests = false;
  reply.onClose(() => void options.sessions.endSession(session, endGraceMs));
  request.annotate('mcp.session', session.label);
  const { federation } = session;
  if (!(federation instanceof Federation)) throw new Error('a session without state has no federation');
  if (initialize === undefined) {
    const version = request.header('mcp-protocol-version') ?? assumedRevision;
    session.agree(version);
    session.attachCaller(caller, federation.naming);
    federation.beginOnDemand(ownMessage('initialize', gatewayAsClient(version, options.version)));
    deliver(options, client, accepted, post, session);
  } else answerInitialize(options, client, accepted, session, initialize);
}

/** The targets answer as they would for a session, which ends with that. */
function answerInitialize(
  { mcpMetrics, budgets, version }: HandlerOptions,
  { reply, request: http, caller, audit }: ClientRequest,
  accepted: Accepted,
  session: Session,
  request: Envelope,
): void {
  http.annotate('mcp.method', 'initialize');
  const answer = new PostResponse(reply, accepted, 1, false, session.streams);
  audit?.follow(answer);
  const call = new Call({
    answer,
    request,
    // Each target has its own count.
    stats: new CallStats(),
    tokenText: undefined,
    filter: undefined,
    tally: budgets.calls.enter(holderOf(caller)),
    session,
  });
  const { federation } = session;
  if (federation instanceof Federation)
    initializeAll(federation, request, version, call, (name) => mcpMetrics.cell(name, 'initialize'));
}

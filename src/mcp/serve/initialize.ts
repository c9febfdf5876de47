import { GatewayError } from '../../errors.ts';
import { hiddenBeginning } from '../../telemetry/index.ts';
import { edited, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { holderOf } from '../limits/budgets.ts';
import type { Accepted } from '../messages/accept.ts';
import { isSupportedVersion, supportedVersions } from '../messages/versions.ts';
import { Federation } from '../federation/federation.ts';
import { initializeAll } from '../federation/initializeAll.ts';
import { Call } from '../session/call.ts';
import { CallStats } from '../session/mcpMetrics.ts';
import { InitializeCall } from '../session/initializeCall.ts';
import { PostResponse } from '../session/postResponse.ts';
import type { Session } from '../session/session.ts';
import { maxKept } from '../targets/conversation/sessionReplay.ts';
import { checkCalls, type ClientRequest, type HandlerOptions } from './clientRequest.ts';
import type { Post } from './readPost.ts';

/**
 * Opens a session and sends the client's initialize to every target (MCP 2025-11-25, "Lifecycle").
 * @param opened the session of a transport that opens it before
 * @throws GatewayError mcp_invalid_request, mcp_budget_full, mcp_overloaded
 */
export function initialize(
  options: HandlerOptions,
  client: ClientRequest,
  accepted: Accepted,
  post: Post,
  opened?: Session,
): void {
  const { settings, sessions } = options;
  const { request, reply, caller } = client;
  request.annotate('mcp.method', 'initialize');
  const message = readInitialize(post);
  // A client keeps the id of a session that is over for its next initialize; only the id of a live session is a mistake.
  const id = request.header('mcp-session-id');
  if (id !== undefined && sessions.holds(id, settings, caller))
    throw new GatewayError('mcp_invalid_request', {
      message: 'invalid request: the session is initialized already',
    });
  checkCalls(options, caller, 1);
  const session = opened ?? sessions.open(settings, caller);
  session.client = programOf(message);
  request.annotate('mcp.session', session.label);
  const answer = new PostResponse(reply, accepted, 1, false, session.streams);
  client.audit?.follow(answer);
  const { federation } = session;
  if (federation instanceof Federation) {
    const names = settings.targets.map(({ name }) => name).join(', ');
    // Each target has its own count, and tells of its start by itself.
    const opening = openingCall(options, client, session, message, answer, {
      name: names,
      stats: new CallStats(),
      onStart: () => undefined,
    });
    initializeAll(federation, message, options.version, opening, (name) =>
      options.mcpMetrics.cell(name, 'initialize'),
    );
    session.streams.expect(answer);
    return;
  }
  for (const target of session.targets.values()) {
    const { name } = target;
    request.annotate('mcp.target', name);
    answer.note(message, { target: name });
    const opening = openingCall(options, client, session, message, answer, {
      name,
      stats: options.mcpMetrics.cell(name, 'initialize'),
      onStart: (reason) => {
        const failure = reason === undefined ? undefined : { reason, stderr: target.view().stderr ?? [] };
        options.starts.note(session.backendKey, name, failure);
      },
    });
    target.open({ envelope: message, token: undefined, edits: [] }, opening);
    session.streams.expect(answer);
  }
}

/**
 * The initialize of a POST, as targets get it.
 * @throws GatewayError mcp_invalid_request
 */
export function readInitialize({ batch, first }: Post): Envelope {
  // "The initialize request MUST NOT be part of a JSON-RPC batch" (2025-03-26, Lifecycle).
  if (batch)
    throw new GatewayError('mcp_invalid_request', { message: 'invalid request: initialize in a batch' });
  if (first!.text.length > maxKept)
    throw new GatewayError('mcp_invalid_request', {
      message: `invalid request: initialize has more than ${maxKept} characters`,
    });
  return negotiable(first!);
}

/** Longer names and versions of a client are cut, in characters. */
const longestName = 128;

/** The program of the client, as its `clientInfo` names it, without secrets: operators see it. */
function programOf({ text }: Envelope): Session['client'] {
  const { params } = JSON.parse(text) as { readonly params?: unknown };
  const { clientInfo } = Object(params) as { readonly clientInfo?: unknown };
  const { name, version } = Object(clientInfo) as { readonly name?: unknown; readonly version?: unknown };
  if (typeof name !== 'string') return undefined;
  const shown = typeof version === 'string' ? version : '';
  return { name: hiddenBeginning(name, longestName), version: hiddenBeginning(shown, longestName) };
}

/** The target of an initialize, or all of them. */
interface OpenedTarget {
  readonly name: string;
  readonly stats: CallStats;
  /** Hears whether it has started. */
  readonly onStart: (problem?: string) => void;
}

/** The call that decides whether the session comes to be. */
function openingCall(
  { settings, sessions, budgets }: HandlerOptions,
  { reply, caller }: ClientRequest,
  session: Session,
  request: Envelope,
  answer: PostResponse,
  { name, stats, onStart }: OpenedTarget,
): InitializeCall {
  const call = new Call({
    answer,
    request,
    stats,
    tokenText: undefined,
    filter: undefined,
    tally: budgets.calls.enter(holderOf(caller)),
    session,
  });
  const carry = (): void => {
    // The client of HTTP+SSE goes by the id with which its stream began.
    if (session.streams.resumable) sessions.carry(session, settings, request);
  };
  const opening = new InitializeCall(session, call, answer, request, { target: name, carry, onStart });
  reply.onClose(() => opening.closed());
  return opening;
}

/**
 * An initialize that asks for a revision that the gateway speaks. A server that agreed to any other would have its
 * client refused on the next request (MCP, Lifecycle, "Version Negotiation").
 */
function negotiable(initialize: Envelope): Envelope {
  const place = memberOf(initialize.text, initialize.body, 'protocolVersion');
  if (place === undefined) return initialize;
  if (place === 'ambiguous')
    throw new GatewayError('mcp_invalid_request', { message: 'invalid request: a member is repeated' });
  const version = stringValue(initialize.text, place);
  // It is for the server to say that a version must be a text.
  if (version === undefined || isSupportedVersion(version)) return initialize;
  return edited(initialize, [{ ...place, replacement: JSON.stringify(supportedVersions[0]) }]);
}

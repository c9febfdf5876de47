import { GatewayError } from '../../errors.ts';
import { eventStreamHeaders, type HttpReply, type HttpRequest, type ReplyStream } from '../../http/index.ts';
import { maxDurationMs, type Limits, type McpBackend } from '../../model/index.ts';
import { isJson, readAccept, type Accepted } from '../messages/accept.ts';
import { PostResponse } from '../session/postResponse.ts';
import { Call } from '../session/call.ts';
import type { Tally } from '../limits/budget.ts';
import { holderOf, type Budgets } from '../limits/budgets.ts';
import type { Caller } from '../contract.ts';
import { maxKept } from '../targets/conversation/sessionReplay.ts';
import { prepareMessage } from './dispatch.ts';
import { edited, memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { ItemRules } from '../items/itemRules.ts';

import type { McpMetrics } from '../session/mcpMetrics.ts';
import { InitializeCall } from '../session/initializeCall.ts';
import { originAllowed } from './origin.ts';
import { readPost, type Post } from './readPost.ts';
import { sendError } from '../messages/rpcError.ts';
import { Session } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';
import { hasBatches, isSupportedVersion, supportedVersions } from '../messages/versions.ts';

/** Serves one MCP backend. */
export interface McpHandler {
  /** Answers the request; never throws and never rejects. */
  serve(request: HttpRequest, reply: HttpReply, caller: Caller): void;
}

export interface HandlerOptions {
  readonly settings: McpBackend;
  readonly sessions: Sessions;
  readonly mcpMetrics: McpMetrics;
  readonly budgets: Budgets;
  readonly limits: () => Limits;
  /** Milliseconds since the epoch; the clock that tokens are judged by. */
  readonly now: () => number;
}

type Serve = (request: HttpRequest, reply: HttpReply, caller: Caller) => void;

/** The time for a target to leave after DELETE, in milliseconds. */
const deleteGraceMs = 3_000;

/** Streamable HTTP (MCP 2025-03-26, 2025-06-18, 2025-11-25, "Transports") in front of the sessions. */
export class StreamableHttp implements McpHandler {
  private readonly options: HandlerOptions;
  private readonly methods: ReadonlyMap<string, Serve> = new Map<string, Serve>([
    ['POST', (request, reply, caller) => this.post(request, reply, caller)],
    ['GET', (request, reply, caller) => this.get(request, reply, caller)],
    ['DELETE', (request, reply, caller) => this.delete(request, reply, caller)],
  ]);

  constructor(options: HandlerOptions) {
    this.options = options;
  }

  serve(request: HttpRequest, reply: HttpReply, caller: Caller): void {
    try {
      if (!originAllowed(request, this.options.settings.dnsRebindingProtection))
        throw new GatewayError('origin_refused', { detail: `origin ${request.header('origin') ?? '-'}` });
      const method = this.methods.get(request.method);
      if (method === undefined)
        throw new GatewayError('mcp_method_not_allowed', { headers: [['allow', 'GET, POST, DELETE']] });
      method(request, reply, caller);
    } catch (error) {
      sendError(reply, error);
    }
  }

  private post(request: HttpRequest, reply: HttpReply, caller: Caller): void {
    const accepted = readAccept(request.header('accept'));
    if (!accepted.json && !accepted.events) throw new GatewayError('mcp_not_acceptable');
    if (!isJson(request.header('content-type'))) throw new GatewayError('mcp_unsupported_media');
    const limits = this.options.limits();
    request.readBody(limits.maxMcpRequestBytes).then(
      (body) => this.read(request, reply, caller, accepted, body),
      (error: unknown) => sendError(reply, asMessageError(error, request, limits)),
    );
  }

  private read(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    accepted: Accepted,
    body: Buffer,
  ): void {
    try {
      const { maxJsonDepth: maxDepth, maxJsonNodes: maxNodes } = this.options.limits();
      const post = readPost(body, { maxDepth, maxNodes });
      if (!(post instanceof Promise)) {
        this.take(request, reply, caller, accepted, post);
        return;
      }
      post
        .then((one) => {
          // The request was not carried out, so a client that has left has lost nothing.
          if (!reply.closed) this.take(request, reply, caller, accepted, one);
        })
        .catch((error: unknown) => sendError(reply, error));
    } catch (error) {
      sendError(reply, error);
    }
  }

  private take(request: HttpRequest, reply: HttpReply, caller: Caller, accepted: Accepted, post: Post): void {
    const { idText } = post;
    try {
      // The body of initialize says what the client speaks, whatever its headers have kept of a former session.
      if (post.first?.method === 'initialize' && post.first.kind === 'request')
        this.initialize(request, reply, caller, accepted, post);
      else if (this.versionAccepted(request, reply, idText))
        this.message(request, reply, caller, accepted, post);
    } catch (error) {
      sendError(reply, error, idText);
    }
  }

  private message(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    accepted: Accepted,
    post: Post,
  ): void {
    this.session(
      request,
      reply,
      caller,
      (session) => this.deliver(request, reply, caller, accepted, post, session),
      post.idText,
    );
  }

  private deliver(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    accepted: Accepted,
    post: Post,
    session: Session,
  ): void {
    if (post.batch && !(session.protocolVersion !== undefined && hasBatches(session.protocolVersion)))
      throw new GatewayError('mcp_invalid_request', {
        message: 'invalid request: the protocol revision of this session has no batches',
      });
    const { settings, mcpMetrics, budgets } = this.options;
    if (post.requests > 0) this.checkCalls(caller, post.requests);
    // The handshake of a client that does nothing afterwards is no use of the session.
    if (post.first?.method !== 'notifications/initialized') session.unused = false;
    const itemRules = ItemRules.of(caller);
    const answer = new PostResponse(reply, accepted, post.requests, post.batch, session.streams, itemRules);
    const enter = (): Tally => budgets.calls.enter(holderOf(caller));
    const ofRoute = caller.callTimeoutMs;
    const callLimit =
      ofRoute === undefined ? { ms: this.options.limits().mcpCallTimeoutMs } : { ms: ofRoute, ofRoute: true };
    const x = { settings, session, answer, itemRules, http: request, mcpMetrics, enter, callLimit };
    const verdicts = post.messages.map((message) => prepareMessage(x, message));
    for (const carryOut of verdicts) carryOut();
    if (post.requests > 0) {
      answer.begun();
      return;
    }
    const receipt = (): void => reply.send({ status: 202 });
    // The next message may come to another process, which does not know what is on its way here.
    const settling = session.shared ? session.settling : undefined;
    if (settling === undefined) receipt();
    else void settling.then(receipt);
  }

  /**
   * Sees to it that a caller may have so many calls more under way.
   * @throws GatewayError mcp_budget_full, mcp_overloaded
   */
  private checkCalls(caller: Caller, more: number): void {
    const { sessions, budgets } = this.options;
    const holder = holderOf(caller);
    const stop = budgets.calls.exceeded(holder, more);
    if (stop === undefined) return;
    // Calls whose client has left give way first.
    sessions.dropAbandoned(stop === 'each' ? holder : undefined);
    budgets.calls.check(holder, more);
  }

  private initialize(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    accepted: Accepted,
    post: Post,
  ): void {
    request.annotate('mcp.method', 'initialize');
    // "The initialize request MUST NOT be part of a JSON-RPC batch" (2025-03-26, Lifecycle).
    if (post.batch)
      throw new GatewayError('mcp_invalid_request', { message: 'invalid request: initialize in a batch' });
    if (post.first!.text.length > maxKept)
      throw new GatewayError('mcp_invalid_request', {
        message: `invalid request: initialize has more than ${maxKept} characters`,
      });
    const message = negotiable(post.first!);
    // A client keeps the id of a session that is over for its next initialize; only one that lives is a mistake.
    const id = request.header('mcp-session-id');
    if (id !== undefined && this.options.sessions.holds(id, this.options.settings, caller))
      throw new GatewayError('mcp_invalid_request', {
        message: 'invalid request: the session is initialized already',
      });
    this.checkCalls(caller, 1);
    const session = this.options.sessions.open(this.options.settings, caller);
    request.annotate('mcp.session', session.label);
    const answer = new PostResponse(reply, accepted, 1, false, session.streams);
    for (const target of session.targets.values()) {
      request.annotate('mcp.target', target.name);
      const cell = this.options.mcpMetrics.cell(target.name, 'initialize');
      const tally = this.options.budgets.calls.enter(holderOf(caller));
      const call = new Call({
        answer,
        request: message,
        cell,
        tokenText: undefined,
        filter: undefined,
        tally,
        session,
      });
      const carry = (): void => this.options.sessions.carry(session, this.options.settings);
      const opening = new InitializeCall(session, call, target.name, carry);
      reply.onClose(() => opening.closed());
      target.open({ envelope: message, token: undefined, edits: [] }, opening);
      session.streams.expect(answer);
    }
  }

  private get(request: HttpRequest, reply: HttpReply, caller: Caller): void {
    if (!readAccept(request.header('accept')).events)
      throw new GatewayError('mcp_not_acceptable', { message: 'client must accept text/event-stream' });
    if (!this.versionAccepted(request, reply)) return;
    this.session(request, reply, caller, (session) => this.listen(request, reply, caller, session));
  }

  private listen(request: HttpRequest, reply: HttpReply, caller: Caller, session: Session): void {
    const lastEventId = request.header('last-event-id');
    const place = lastEventId === undefined ? undefined : session.streams.placeOf(lastEventId);
    if (place?.journal.over(place.seq) === true) {
      // The stream has no further events: 204 tells an event source to stop asking.
      reply.send({ status: 204 });
      return;
    }
    if (place === undefined && session.streams.full) throw new GatewayError('mcp_stream_exists');
    const { streams } = this.options.budgets;
    const holder = holderOf(caller);
    streams.check(holder);
    session.unused = false;
    const tally = streams.enter(holder);
    const stream = reply.open(200, eventStreamHeaders);
    const itemRules = ItemRules.of(caller);
    const remove =
      place === undefined
        ? session.streams.add(stream, itemRules)
        : session.streams.resume(stream, place, itemRules);
    session.listened();
    const cancelEnd = endAt(stream, caller.expiresAt, this.options.now);
    const release = caller.whileAllowed?.(() => stream.end());
    reply.onClose(() => {
      cancelEnd();
      release?.();
      tally.leave();
      remove();
      session.listened();
      session.touch();
    });
  }

  private delete(request: HttpRequest, reply: HttpReply, caller: Caller): void {
    if (!this.versionAccepted(request, reply)) return;
    this.session(request, reply, caller, (session) => {
      void this.options.sessions.quit(session, deleteGraceMs).then(() => reply.send({ status: 204 }));
    });
  }

  /**
   * Goes on with the session that the request names, if it is the caller's and of this backend: at once, or when it was
   * resumed.
   * @throws GatewayError
   */
  private session(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    then: (session: Session) => void,
    idText?: string,
  ): void {
    const id = request.header('mcp-session-id');
    if (id === undefined || id === '') throw new GatewayError('mcp_session_required');
    const use = (session: Session): void => {
      request.annotate('mcp.session', session.label);
      session.touch();
      if (!session.follow(this.options.settings)) {
        void this.options.sessions.quit(session, deleteGraceMs);
        const detail = 'the configuration does not name its target any more';
        throw new GatewayError('mcp_session_unknown', { detail });
      }
      session.attend(caller);
      // The configuration may name another server by now, with which it cannot go on.
      if (session.ended) throw new GatewayError('mcp_session_unknown', { detail: 'ended meanwhile' });
      then(session);
    };
    const found = this.options.sessions.find(id, this.options.settings, caller);
    if (found instanceof Session) {
      use(found);
      return;
    }
    found
      .then((session) => {
        // The request was not carried out, so a client that has left has lost nothing.
        if (!reply.closed) use(session);
      })
      .catch((error: unknown) => sendError(reply, error, idText));
  }

  /** Refuses a revision that is not spoken here; one that is absent stands for 2025-03-26. */
  private versionAccepted(request: HttpRequest, reply: HttpReply, idText?: string): boolean {
    const requested = request.header('mcp-protocol-version');
    if (requested === undefined || isSupportedVersion(requested)) return true;
    const data = { supported: supportedVersions, requested: requested.slice(0, 64) };
    sendError(reply, new GatewayError('mcp_version_unsupported'), idText, data);
    return false;
  }
}

/** A body over the limit is an error of the message, with its size (where the client said it) and the limit. */
function asMessageError(error: unknown, request: HttpRequest, limits: Limits): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'body_too_large') return error;
  const { maxBodyBytes, maxMcpRequestBytes } = limits;
  const ofBodies = maxBodyBytes !== 0 && maxBodyBytes < maxMcpRequestBytes;
  const most = ofBodies ? maxBodyBytes : maxMcpRequestBytes;
  const announced = request.header('content-length');
  const size = announced ?? `more than ${String(most)}`;
  return new GatewayError('mcp_request_too_large', {
    message: `message too large: ${size} bytes, of which the gateway takes ${String(most)}`,
    detail: ofBodies
      ? 'limits.maxBodyBytes'
      : 'limits.maxMcpMessageBytes, or frontendPolicies.http.maxBufferSize where that is set',
  });
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

/**
 * A stream of news is opened with a token and ends with it; the client comes back with a fresh one. Timers and the clock
 * may disagree, and the clock is what tokens are judged by.
 * @returns what takes it back
 */
function endAt(stream: ReplyStream, expiresAt: number | undefined, now: () => number): () => void {
  if (expiresAt === undefined) return () => undefined;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const ms = expiresAt - now();
    timer = setTimeout(look, Math.min(maxDurationMs, Math.max(0, ms))).unref();
  };
  const look = (): void => {
    if (now() >= expiresAt) stream.end();
    else wait();
  };
  wait();
  return () => clearTimeout(timer);
}

import { GatewayError } from '../errors.ts';
import { eventStreamHeaders, type HttpReply, type HttpRequest, type ReplyStream } from '../http/index.ts';
import type { Limits, McpBackend } from '../model/index.ts';
import { isJson, readAccept, type Accepted } from './accept.ts';
import { Answer } from './answer.ts';
import { Call } from './call.ts';
import type { Caller } from './contract.ts';
import { maxKept } from './conversation/restore.ts';
import { dispatch } from './dispatch.ts';

import type { Measure } from './measure.ts';
import { Opening } from './opening.ts';
import { originAllowed } from './origin.ts';
import { readPost, type Post } from './readPost.ts';
import { sendError } from './sendError.ts';
import { Session } from './session.ts';
import type { Sessions } from './sessions.ts';
import { hasBatches, isSupportedVersion, supportedVersions } from './versions.ts';

/** Serves one MCP backend. */
export interface McpHandler {
  /** Answers the request; never throws and never rejects. */
  serve(request: HttpRequest, reply: HttpReply, caller: Caller): void;
}

export interface HandlerOptions {
  readonly settings: McpBackend;
  readonly sessions: Sessions;
  readonly measure: Measure;
  readonly limits: () => Limits;
}

type Serve = (request: HttpRequest, reply: HttpReply, caller: Caller) => void;

/** What a target gets to leave after DELETE, in milliseconds. */
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
    request.readBody(this.options.limits().maxBufferBytes).then(
      (body) => this.read(request, reply, caller, accepted, body),
      (error: unknown) => reply.fail(error),
    );
  }

  private read(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    accepted: Accepted,
    body: Buffer,
  ): void {
    let idText: string | undefined;
    try {
      const post = readPost(body);
      idText = post.idText;
      if (!this.versionAccepted(request, reply, idText)) return;
      if (post.first?.method === 'initialize' && post.first.kind === 'request')
        this.initialize(request, reply, caller, accepted, post);
      else this.message(request, reply, caller, accepted, post);
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
    const { settings, measure } = this.options;
    const answer = new Answer(reply, accepted, post.requests, post.batch, session.streams);
    for (const message of post.messages) {
      if (message.kind === 'request')
        dispatch({ settings, session, answer, caller, http: request, measure }, message);
      else if (message.kind === 'notification') {
        request.annotate('mcp.method', message.method.slice(0, 200));
        session.notify(message);
      } else session.respond(message);
    }
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

  private initialize(
    request: HttpRequest,
    reply: HttpReply,
    caller: Caller,
    accepted: Accepted,
    post: Post,
  ): void {
    const message = post.first!;
    request.annotate('mcp.method', 'initialize');
    // "The initialize request MUST NOT be part of a JSON-RPC batch" (2025-03-26, Lifecycle).
    if (post.batch)
      throw new GatewayError('mcp_invalid_request', { message: 'invalid request: initialize in a batch' });
    if (message.text.length > maxKept)
      throw new GatewayError('mcp_invalid_request', {
        message: `invalid request: initialize has more than ${maxKept} characters`,
      });
    if (request.header('mcp-session-id') !== undefined)
      throw new GatewayError('mcp_invalid_request', {
        message: 'invalid request: the session is initialized already',
      });
    const session = this.options.sessions.open(this.options.settings, caller);
    request.annotate('mcp.session', session.label);
    const answer = new Answer(reply, accepted, 1, false, session.streams);
    for (const target of session.targets.values()) {
      request.annotate('mcp.target', target.name);
      const cell = this.options.measure.cell(target.name, 'initialize');
      const call = new Call({ answer, request: message, cell, tokenText: undefined, list: undefined });
      const carry = (): void => this.options.sessions.carry(session, this.options.settings);
      const opening = new Opening(session, call, carry);
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
      // Nothing will come any more: 204 tells an event source to stop asking.
      reply.send({ status: 204 });
      return;
    }
    if (place === undefined && session.streams.full) throw new GatewayError('mcp_stream_exists');
    const stream = reply.open(200, eventStreamHeaders);
    const remove = place === undefined ? session.streams.add(stream) : session.streams.resume(stream, place);
    session.listened();
    const over = endAt(stream, caller.expiresAt);
    const release = caller.whileAllowed?.(() => stream.end());
    reply.onClose(() => {
      clearTimeout(over);
      release?.();
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
      session.useReach(caller);
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
        // Nothing of it was carried out, so a client that has left has lost nothing.
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

/** A longer timer would fire at once (Node's timers count in 31 bits). */
const longestTimerMs = 2_147_483_647;

/** A stream of news is opened with a token and ends with it; the client comes back with a fresh one. */
function endAt(stream: ReplyStream, expiresAt: number | undefined): NodeJS.Timeout | undefined {
  if (expiresAt === undefined) return undefined;
  const ms = Math.min(longestTimerMs, Math.max(0, expiresAt - Date.now()));
  return setTimeout(() => stream.end(), ms).unref();
}

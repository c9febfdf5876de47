import { GatewayError } from '../../errors.ts';
import type { HttpReply, HttpRequest } from '../../http/index.ts';
import type { Caller } from '../contract.ts';
import { namingOf } from '../items/naming.ts';
import type { Accepted } from '../messages/accept.ts';
import { sendError } from '../messages/rpcError.ts';
import { Session } from '../session/session.ts';
import { checkOriginAndMethod, checkPost, checkStream, checkVersion, asMessageError } from './acceptance.ts';
import type { ClientRequest, HandlerOptions } from './clientRequest.ts';
import { deliver } from './deliver.ts';
import { initialize, readInitialize } from './initialize.ts';
import { isModern, serveModern } from './modernPost.ts';
import { serveStateless } from './stateless.ts';
import { listen } from './listen.ts';
import { recordedFirst, recordedPost } from './recorded.ts';
import { beginsSession, readPost, type Post } from './readPost.ts';
import { openSse, takeSse } from './sseSessions.ts';
import { opensSse, sseSessionOf } from './sseRequests.ts';

/** Serves one MCP backend. */
export interface McpHandler {
  /** Answers the request; never throws and never rejects. */
  serve(request: HttpRequest, reply: HttpReply, caller: Caller): void;
}

/** The time for a target to leave after DELETE, in milliseconds. */
const deleteGraceMs = 3_000;

/**
 * Streamable HTTP (MCP 2025-03-26, 2025-06-18, 2025-11-25, "Transports") in front of the sessions. A call is a POST
 * request; it lives in this order:
 *
 * 1. `serve` checks the `Origin` and the method;
 * 2. `post` checks `Accept` and the content type, and reads the body within its limit;
 * 3. `read` turns the body into messages (`readPost`);
 * 4. `take` opens a session for `initialize`, and checks the protocol version of every other message;
 * 5. `withSession` finds or resumes the session, which must belong to the caller;
 * 6. `deliver` judges every message by the caller's rules (`dispatch.ts`), then sends them to their targets;
 * 7. the response of a target passes the same rules (`session/call.ts`) and becomes JSON or an event
 *    (`session/postResponse.ts`).
 */
export class StreamableHttp implements McpHandler {
  private readonly options: HandlerOptions;
  private readonly methods: ReadonlyMap<string, (client: ClientRequest) => void> = new Map([
    ['POST', (client: ClientRequest) => this.post(client)],
    ['GET', (client: ClientRequest) => this.get(client)],
    ['DELETE', (client: ClientRequest) => this.delete(client)],
  ]);

  constructor(options: HandlerOptions) {
    this.options = options;
  }

  serve(request: HttpRequest, reply: HttpReply, caller: Caller): void {
    try {
      checkOriginAndMethod(request, this.options.settings);
      if (opensSse(request))
        recordedFirst({ request, reply, caller }, 'stream/open', (client) => openSse(this.options, client));
      else this.methods.get(request.method)?.({ request, reply, caller });
    } catch (error) {
      sendError(reply, error);
    }
  }

  private post(client: ClientRequest): void {
    const { request, reply } = client;
    const accepted = checkPost(request);
    const limits = this.options.limits();
    request.readBody(limits.maxMcpRequestBytes).then(
      (body) => {
        // As below: a stream of HTTP/2 can be reset with the bytes that end its body.
        if (!reply.closed) this.read(client, accepted, body);
      },
      (error: unknown) => sendError(reply, asMessageError(error, request, limits)),
    );
  }

  private read(client: ClientRequest, accepted: Accepted, body: Buffer): void {
    const { reply } = client;
    try {
      const { maxJsonDepth: maxDepth, maxJsonNodes: maxNodes } = this.options.limits();
      const post = readPost(body, { maxDepth, maxNodes });
      if (!(post instanceof Promise)) {
        this.take(client, accepted, post);
        return;
      }
      post
        .then((one) => {
          // The request was not carried out, so a client that has left has lost nothing.
          if (!reply.closed) this.take(client, accepted, one);
        })
        .catch((error: unknown) => sendError(reply, error));
    } catch (error) {
      sendError(reply, error);
    }
  }

  private take(client: ClientRequest, accepted: Accepted, post: Post): void {
    const { audit } = client.caller;
    if (audit === undefined) this.carryOut(client, accepted, post);
    else recordedPost(client, audit, post, (recorded) => this.carryOut(recorded, accepted, post));
  }

  /** Carries out the messages of a POST, whose intents are recorded where they must be. */
  private carryOut(client: ClientRequest, accepted: Accepted, post: Post): void {
    const { idText } = post;
    try {
      const sseSession = sseSessionOf(client.request);
      if (sseSession !== undefined) {
        const take = (session: Session): void => takeSse(this.options, client, post, session);
        checkVersion(client.request);
        this.withSession(client, take, idText, sseSession);
        return;
      }
      if (isModern(client, post)) {
        serveModern(this.options, client, accepted, post);
        return;
      }
      const begins = beginsSession(post);
      if (!begins) checkVersion(client.request);
      if (this.options.settings.stateless === true)
        serveStateless(this.options, client, accepted, post, begins ? readInitialize(post) : undefined);
      else if (begins) initialize(this.options, client, accepted, post);
      else
        this.withSession(client, (session) => deliver(this.options, client, accepted, post, session), idText);
    } catch (error) {
      sendError(client.reply, error, idText);
    }
  }

  private get(given: ClientRequest): void {
    recordedFirst(given, 'stream/open', (client) => this.openStream(client));
  }

  private openStream(client: ClientRequest): void {
    checkStream(client.request);
    this.withSession(client, (session) => listen(this.options, client, session));
  }

  private delete(given: ClientRequest): void {
    recordedFirst(given, 'session/delete', (client) => this.endSession(client));
  }

  private endSession(client: ClientRequest): void {
    checkVersion(client.request);
    this.withSession(client, (session) => {
      void this.options.sessions
        .endSession(session, deleteGraceMs)
        .then(() => client.reply.send({ status: 204 }));
    });
  }

  /**
   * Continues the session that the request names, if the session belongs to the caller and to this backend: at once, or
   * after the process has resumed it.
   * @throws GatewayError
   */
  private withSession(
    client: ClientRequest,
    then: (session: Session) => void,
    idText?: string,
    id: string | undefined = client.request.header('mcp-session-id'),
  ): void {
    const { request, reply, caller } = client;
    const { sessions, settings } = this.options;
    if (id === undefined || id === '') throw new GatewayError('mcp_session_required');
    const use = (session: Session): void => {
      request.annotate('mcp.session', session.label);
      session.touch();
      sessions.extend(session, settings, caller);
      if (!session.follow(settings)) {
        void sessions.endSession(session, deleteGraceMs);
        const detail = 'the configuration does not name its target any more';
        throw new GatewayError('mcp_session_unknown', { detail });
      }
      session.attachCaller(caller, namingOf(settings));
      // The configuration may name another server by now, with which the session cannot continue.
      if (session.ended) throw new GatewayError('mcp_session_unknown', { detail: 'ended meanwhile' });
      then(session);
    };
    const found = sessions.find(id, settings, caller);
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
}

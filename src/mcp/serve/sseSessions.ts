/** HTTP+SSE for clients (MCP 2024-11-05, "Transports"), over the sessions of Streamable HTTP. */

import { GatewayError } from '../../errors.ts';
import { readAccept, type Accepted } from '../messages/accept.ts';
import type { Session } from '../session/session.ts';
import type { ClientRequest, HandlerOptions } from './clientRequest.ts';
import { deliver } from './deliver.ts';
import { initialize } from './initialize.ts';
import { openEventStream } from './listen.ts';
import type { Post } from './readPost.ts';
import { messageTarget } from './sseRequests.ts';
import { SseStream } from './sseStream.ts';

/** The time for a target to leave when the stream has ended, in milliseconds. */
const endGraceMs = 3_000;
/** Answers go on the event stream, whatever the POST accepts. */
const eventsOnly: Accepted = { json: false, events: true, prefersEvents: false };

/**
 * Opens a session and its event stream, whose first event names the URL for messages. The session ends with the stream.
 * @throws GatewayError mcp_not_acceptable, mcp_budget_full, mcp_overloaded, shutting_down
 */
export function openSse(options: HandlerOptions, client: ClientRequest): void {
  const { settings, sessions, sseStreams } = options;
  const { request, caller } = client;
  if (!readAccept(request.header('accept')).events)
    throw new GatewayError('mcp_not_acceptable', { message: 'client must accept text/event-stream' });
  openEventStream(options, client, () => {
    const session = sessions.open(settings, caller);
    request.annotate('mcp.session', session.label);
    // The client cannot come back to a stream: that would be another session.
    session.streams.resumable = false;
    return {
      session,
      join: (stream, itemRules) => {
        const sse = new SseStream(stream);
        sseStreams.set(session, sse);
        sse.nameEndpoint(messageTarget(request, session.id));
        const remove = session.streams.add(sse.news(), itemRules);
        return {
          end: () => sse.end(),
          remove: () => {
            remove();
            sse.left();
            sseStreams.delete(session);
            void sessions.endSession(session, endGraceMs);
          },
        };
      },
    };
  });
}

/**
 * Takes the messages of a POST for a session. The POST gets a receipt, the responses go on the event stream.
 * @throws GatewayError
 */
export function takeSse(
  options: HandlerOptions,
  { request, reply, caller, audit }: ClientRequest,
  post: Post,
  session: Session,
): void {
  const sse = options.sseStreams.get(session);
  if (sse === undefined || sse.ending)
    throw new GatewayError('mcp_session_unknown', { detail: 'the session has no event stream of HTTP+SSE' });
  const isFirst = post.first?.method === 'initialize' && post.first.kind === 'request';
  if (isFirst === sse.begun) {
    const why = isFirst ? 'the session is initialized already' : 'initialize comes first';
    throw new GatewayError('mcp_invalid_request', { message: `invalid request: ${why}` });
  }
  const answer = sse.answer(post.idText);
  const onStream = { request, reply: answer, caller, ...(audit && { audit }) };
  try {
    if (isFirst) {
      initialize(options, onStream, eventsOnly, post, session);
      sse.begun = true;
    } else deliver(options, onStream, eventsOnly, post, session);
  } catch (error) {
    answer.finish();
    throw error;
  }
  reply.send({ status: 202, headers: [['content-type', 'text/plain']], body: 'Accepted' });
}

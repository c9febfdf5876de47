import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { eventStreamHeaders, type ReplyStream } from '../../http/index.ts';
import { maxDurationMs } from '../../model/index.ts';
import { ItemRules } from '../items/itemRules.ts';
import { namingOf } from '../items/naming.ts';
import { holderOf } from '../limits/budgets.ts';
import { sendError } from '../messages/rpcError.ts';
import { isComplete, requestsOf, type StoredPlace } from '../session/followedStream.ts';
import type { Session } from '../session/session.ts';
import type { ClientRequest, HandlerOptions } from './clientRequest.ts';

/** Seconds a client is asked to wait when the store does not answer. */
const retryAfter = 1;

/**
 * Opens the event stream of a GET request, or resumes a stream with `Last-Event-ID` (MCP 2025-11-25, "Listening for
 * Messages from the Server", "Resumability and Redelivery").
 * @throws GatewayError mcp_stream_exists, mcp_budget_full
 */
export function listen(options: HandlerOptions, client: ClientRequest, session: Session): void {
  const { request, reply } = client;
  const { streams } = session;
  const lastEventId = request.header('last-event-id');
  if (lastEventId === undefined) {
    openNews(options, client, session);
    return;
  }
  const place = streams.placeOf(lastEventId);
  if (place !== undefined) {
    // The stream has no further events: 204 tells an event source to stop asking.
    if (place.journal.over(place.seq)) {
      reply.send({ status: 204 });
      return;
    }
    if (streams.addsGet(place)) refuseMore(session);
    joinStream(options, client, session, (stream, itemRules) => streams.resume(stream, place, itemRules));
    return;
  }
  const found = streams.readElsewhere(lastEventId);
  if (found === undefined) openNews(options, client, session);
  else resumeElsewhere(options, client, session, found).catch((error: unknown) => sendError(reply, error));
}

/** Resumes a stream of another process. @throws GatewayError (by the promise) */
async function resumeElsewhere(
  options: HandlerOptions,
  client: ClientRequest,
  session: Session,
  found: Promise<StoredPlace | undefined>,
): Promise<void> {
  const { reply } = client;
  let place: StoredPlace | undefined;
  try {
    place = await found;
  } catch (error) {
    options.mcpMetrics.streamResumption('unavailable');
    throw new GatewayError('mcp_events_unavailable', { detail: messageOf(error), retryAfter });
  }
  // The request was not carried out, so a client that has left has lost nothing.
  if (reply.closed) return;
  if (session.ended) throw new GatewayError('mcp_session_unknown', { detail: 'ended meanwhile' });
  options.mcpMetrics.streamResumption(place === undefined ? 'unknown' : 'found');
  if (place === undefined) openNews(options, client, session);
  else if (isComplete(place)) reply.send({ status: 204 });
  else {
    const known = place;
    if (requestsOf(known).length === 0) refuseMore(session);
    joinStream(options, client, session, (stream, itemRules) =>
      session.streams.follow(stream, known, itemRules),
    );
  }
}

/** @throws GatewayError mcp_stream_exists */
function refuseMore({ streams }: Session): void {
  if (streams.full) throw new GatewayError('mcp_stream_exists');
}

/** Opens a stream for what servers say by themselves. @throws GatewayError mcp_stream_exists, mcp_budget_full */
function openNews(options: HandlerOptions, client: ClientRequest, session: Session): void {
  refuseMore(session);
  joinStream(options, client, session, (stream, itemRules) => session.streams.add(stream, itemRules));
}

/** Opens an event stream of a session. @param join connects it, and answers what to call when it is closed */
function joinStream(
  options: HandlerOptions,
  client: ClientRequest,
  session: Session,
  join: (stream: ReplyStream, itemRules: ItemRules | undefined) => () => void,
): void {
  openEventStream(options, client, () => {
    session.unused = false;
    return {
      session,
      join: (stream, itemRules) => ({ end: () => stream.end(), remove: join(stream, itemRules) }),
    };
  });
}

/** The session that an event stream is for. */
interface StreamUse {
  readonly session: Session;
  /** Connects the stream to the session. */
  readonly join: (
    stream: ReplyStream,
    itemRules: ItemRules | undefined,
  ) => {
    /** Ends the stream: the caller may not read it any more. */
    readonly end: () => void;
    /** The stream is closed. */
    readonly remove: () => void;
  };
}

/**
 * Opens an event stream for as long as the caller may read it.
 * @param use runs when the budgets have room for the stream
 * @throws GatewayError mcp_budget_full, mcp_overloaded
 */
export function openEventStream(
  { settings, budgets: { streams }, now }: HandlerOptions,
  { reply, caller }: ClientRequest,
  use: () => StreamUse,
): void {
  const holder = holderOf(caller);
  streams.check(holder);
  const { session, join } = use();
  const tally = streams.enter(holder);
  const stream = reply.open(200, eventStreamHeaders);
  let joined: ReturnType<typeof join> | undefined;
  let isOver = false;
  const end = (): void => {
    isOver = true;
    joined?.end();
  };
  // First, so that the news that waits is judged like the news to come.
  const release = caller.whileAllowed?.(end);
  const { remove } = (joined = join(stream, ItemRules.of(caller, namingOf(settings).view)));
  if (isOver) joined.end();
  session.listened();
  const cancelEnd = endAt(end, caller.expiresAt, now);
  reply.onClose(() => {
    cancelEnd();
    release?.();
    tally.leave();
    remove();
    session.listened();
    session.touch();
  });
}

/**
 * Ends a stream when the token that opened it expires; the client comes back with a fresh token. Timers and the clock may
 * disagree; the clock decides, since it judges tokens, too.
 * @returns a function that cancels the end
 */
function endAt(end: () => void, expiresAt: number | undefined, now: () => number): () => void {
  if (expiresAt === undefined) return () => undefined;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const ms = expiresAt - now();
    timer = setTimeout(look, Math.min(maxDurationMs, Math.max(0, ms))).unref();
  };
  const look = (): void => {
    if (now() >= expiresAt) end();
    else wait();
  };
  wait();
  return () => clearTimeout(timer);
}

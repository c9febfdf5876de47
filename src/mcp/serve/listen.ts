import { GatewayError } from '../../errors.ts';
import { eventStreamHeaders, type ReplyStream } from '../../http/index.ts';
import { maxDurationMs } from '../../model/index.ts';
import { ItemRules } from '../items/itemRules.ts';
import { namingOf } from '../items/naming.ts';
import { holderOf } from '../limits/budgets.ts';
import type { Session } from '../session/session.ts';
import type { ClientRequest, HandlerOptions } from './clientRequest.ts';

/**
 * Opens the event stream of a GET request, or resumes a stream with `Last-Event-ID` (MCP 2025-11-25, "Listening for
 * Messages from the Server", "Resumability and Redelivery").
 * @throws GatewayError mcp_stream_exists, mcp_budget_full
 */
export function listen(options: HandlerOptions, client: ClientRequest, session: Session): void {
  const { request, reply } = client;
  const lastEventId = request.header('last-event-id');
  const place = lastEventId === undefined ? undefined : session.streams.placeOf(lastEventId);
  if (place?.journal.over(place.seq) === true) {
    // The stream has no further events: 204 tells an event source to stop asking.
    reply.send({ status: 204 });
    return;
  }
  if (place === undefined && session.streams.full) throw new GatewayError('mcp_stream_exists');
  openEventStream(options, client, () => {
    session.unused = false;
    return {
      session,
      join: (stream, itemRules) => ({
        end: () => stream.end(),
        remove:
          place === undefined
            ? session.streams.add(stream, itemRules)
            : session.streams.resume(stream, place, itemRules),
      }),
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
  const { end, remove } = join(stream, ItemRules.of(caller, namingOf(settings).view));
  session.listened();
  const cancelEnd = endAt(end, caller.expiresAt, now);
  const release = caller.whileAllowed?.(end);
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

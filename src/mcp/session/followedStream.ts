import { GatewayError } from '../../errors.ts';
import { readEnvelope, cut } from '../json/envelope.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { SessionEvents, StoredStream } from '../replicas/storedEvents.ts';
import type { EventSink } from './eventSink.ts';
import { readStoredText } from './storedText.ts';

/** The time between two looks at a stream that goes on at its gateway, in milliseconds. */
const lookMs = 500;

/** A place in a stream of another process, and what the store holds of the stream. */
export interface StoredPlace {
  readonly events: SessionEvents;
  readonly stream: number;
  /** The last event that the client has. */
  readonly seq: number;
  /** The whole stream, as it was read first. */
  readonly found: StoredStream;
}

/** The ids of the requests that the stream answers, as their client wrote them; none: it is a stream of news. */
export const requestsOf = ({ found }: StoredPlace): readonly string[] =>
  JSON.parse(found.requests) as readonly string[];

/** Tells whether the client has everything. */
export const isComplete = ({ found: { last }, seq }: StoredPlace): boolean =>
  last !== undefined && seq >= last;

/** Sends the events of a stream that the client lacks. */
export function repeatStored(
  { stream, seq }: StoredPlace,
  { events }: StoredStream,
  sink: EventSink,
): number {
  let last = seq;
  for (const event of events)
    if (event.seq > last) {
      sink.repeat(`${stream}-${event.seq}`, readStoredText(event.text));
      last = event.seq;
    }
  return last;
}

/**
 * The stream of a POST at another process, for a client that resumes it here: the events so far, then those that the
 * other process writes, and an error for each request whose process ended before it wrote the response.
 */
export class FollowedStream {
  readonly sink: EventSink;
  private readonly place: StoredPlace;
  private readonly unanswered: Set<string>;
  private seq: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(place: StoredPlace, sink: EventSink) {
    this.place = place;
    this.sink = sink;
    this.seq = place.seq;
    this.unanswered = new Set(requestsOf(place));
    sink.comment('resumed');
    this.take(place.found);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.sink.end();
  }

  private take(found: StoredStream): void {
    this.seq = repeatStored({ ...this.place, seq: this.seq }, found, this.sink);
    for (const { text } of found.events) this.answered(readStoredText(text).text);
    if (found.alive && found.last === undefined) {
      this.timer = setTimeout(() => void this.look(), lookMs).unref();
      return;
    }
    // Its process has ended, or the response was too large for the store.
    for (const idText of this.unanswered)
      this.sink.send(errorResponse(new GatewayError('mcp_call_lost'), idText));
    this.sink.end();
  }

  private answered(text: string): void {
    const message = readEnvelope(text);
    if (typeof message !== 'string' && message.kind === 'response')
      this.unanswered.delete(cut(message.text, message.idSpan));
  }

  private async look(): Promise<void> {
    const { events, stream } = this.place;
    try {
      const found = await events.read(stream, this.seq);
      if (this.sink.closed) return;
      if (found !== undefined) this.take(found);
      // The store was restarted without its events.
      else this.sink.end();
    } catch {
      // The client asks again, and is told then whether the store answers.
      this.sink.end();
    }
  }
}

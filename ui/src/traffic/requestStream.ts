/** The live requests of the gateway. */

import { useEffect, useState } from 'react';
import { refusalOf, type ApiError } from '../api/client.ts';
import type { RequestRecord } from '../api/types.ts';

/** Records that the page keeps; the oldest ones go first. */
export const mostRecords = 10_000;
/** New records reach the screen together, so that a flood does not keep the page busy. */
const flushMs = 250;
/** The gateway refused the stream, perhaps because too many are open. */
const reopenMs = 3_000;

/** A record with a key that no other record of the page has. */
export interface Row {
  readonly key: string;
  readonly record: RequestRecord;
}

export interface LiveRequests {
  /** Newest first. */
  readonly rows: readonly Row[];
  /** Records that the gateway left out because there were too many. */
  readonly dropped: number;
  readonly connected: boolean;
  readonly problem: Error | undefined;
}

const nothing: LiveRequests = { rows: [], dropped: 0, connected: false, problem: undefined };

/**
 * Follows the requests of the gateway.
 * @param filter CEL expression about a record; empty for all
 * @param paused the rows stay as they are; the requests meanwhile are shown later
 */
export function useLiveRequests(filter: string, paused: boolean): LiveRequests {
  const [shown, setShown] = useState(nothing);
  const [stream, setStream] = useState<RequestFeed>();
  useEffect(() => {
    setShown(nothing);
    const feed = new RequestFeed(filter);
    setStream(feed);
    return () => feed.close();
  }, [filter]);
  useEffect(() => {
    if (stream === undefined || paused) return undefined;
    stream.show = setShown;
    stream.flush();
    return () => {
      stream.show = undefined;
    };
  }, [stream, paused]);
  return shown;
}

/** Keeps an event stream and its records; the hook that opens it closes it. */
class RequestFeed {
  show: ((state: LiveRequests) => void) | undefined;
  private readonly url: string;
  private source: EventSource;
  private readonly keys = new Set<string>();
  private readonly rows: Row[] = [];
  private dropped = 0;
  private problem: Error | undefined;
  private flushing: ReturnType<typeof setTimeout> | undefined;
  private reopening: ReturnType<typeof setTimeout> | undefined;
  private readonly closed = new AbortController();

  constructor(filter: string) {
    this.url = `/api/v1/requests${filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`}`;
    this.source = this.open();
  }

  close(): void {
    this.closed.abort();
    clearTimeout(this.flushing);
    clearTimeout(this.reopening);
    this.source.close();
  }

  /** Shows the records now. */
  flush(): void {
    this.flushing = undefined;
    this.trim();
    this.show?.({
      rows: this.rows.toReversed(),
      dropped: this.dropped,
      connected: this.source.readyState === EventSource.OPEN,
      problem: this.problem,
    });
  }

  private open(): EventSource {
    const source = new EventSource(this.url);
    source.addEventListener('open', () => {
      this.problem = undefined;
      this.changed();
    });
    source.addEventListener('error', () => void this.failed());
    source.addEventListener('request', (event: MessageEvent<string>) => this.take(event.data));
    source.addEventListener('dropped', (event: MessageEvent<string>) => {
      this.dropped += (JSON.parse(event.data) as { readonly records: number }).records;
      this.changed();
    });
    return source;
  }

  private take(json: string): void {
    const record = JSON.parse(json) as RequestRecord;
    const key = `${record.time} ${record.requestId} ${record.durationMs}`;
    // The gateway sends its kept records again after a reconnection.
    if (this.keys.has(key)) return;
    this.keys.add(key);
    this.dropped += record.skippedBefore ?? 0;
    this.rows.push({ key, record });
    // A hidden tab runs its timers rarely.
    if (this.rows.length > 2 * mostRecords) this.trim();
    this.changed();
  }

  private trim(): void {
    const excess = this.rows.length - mostRecords;
    if (excess > 0) for (const { key } of this.rows.splice(0, excess)) this.keys.delete(key);
  }

  private changed(): void {
    if (!this.closed.signal.aborted) this.flushing ??= setTimeout(() => this.flush(), flushMs);
  }

  /** The browser gives no reason for a stream that failed, so the page asks for it. */
  private async failed(): Promise<void> {
    if (this.source.readyState === EventSource.CLOSED) {
      const problem = await reasonOf(this.url, this.closed.signal);
      if (this.closed.signal.aborted) return;
      this.problem = problem;
      // A wrong filter stays wrong.
      if (problem === undefined || problem.status !== 400)
        this.reopening = setTimeout(() => (this.source = this.open()), reopenMs);
    }
    this.changed();
  }
}

/** Why the gateway refuses a stream; undefined where it does not, or cannot be reached. */
async function reasonOf(url: string, closed: AbortSignal): Promise<ApiError | undefined> {
  const enough = new AbortController();
  try {
    const response = await fetch(url, { signal: AbortSignal.any([closed, enough.signal]) });
    return response.ok ? undefined : await refusalOf(response);
  } catch {
    return undefined;
  } finally {
    enough.abort();
  }
}

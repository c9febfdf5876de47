/** Upper bounds of the duration histogram, in seconds. */
export const durationBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;

/** What one route counts: plain numbers, turned into metrics only when they are read. */
export class RouteStats {
  readonly byStatus = new Map<number, number>();
  readonly buckets: number[] = Array.from({ length: durationBuckets.length + 1 }, () => 0);
  seconds = 0;
  requestBytes = 0;
  responseBytes = 0;
  /** Further tries of requests, and those that the budget did not allow. */
  retries = 0;
  retriesRefused = 0;
  /** Tries made while another was under way, and those of them whose answer was the first. */
  hedges = 0;
  hedgesWon = 0;
  /** Copies sent to mirrors, and those that were not delivered. */
  mirrored = 0;
  mirrorsFailed = 0;
  /** Answers to sessions that stayed where they were, to new ones, and to those whose address was gone. */
  sessionsKept = 0;
  sessionsBegun = 0;
  sessionsMoved = 0;

  /** One finished exchange; `status` 0 stands for a client that left before an answer. */
  note(status: number, milliseconds: number, requestBytes: number, responseBytes: number): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    const seconds = milliseconds / 1000;
    let bucket = 0;
    while (bucket < durationBuckets.length && seconds > (durationBuckets[bucket] as number)) bucket++;
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1;
    this.seconds += seconds;
    this.requestBytes += requestBytes;
    this.responseBytes += responseBytes;
  }
}

/** Counters of the downstream side of the process. */
export interface WireStats {
  connections: number;
  accepted: number;
  refused: number;
  /** Connections that the system failed to hand over. */
  acceptFailures: number;
  /** Exchanges under way. */
  requests: number;
  /** Requests refused because there was too much to do, by what was too much. */
  readonly shed: Map<string, number>;
  /** Connections that the gateway has brought to their end, by reason. */
  readonly ended: Map<string, number>;
  /** Connections that are tunnels now, and that have become one since the start. */
  tunnels: number;
  tunnelled: number;
  /** Ends of TLS handshakes by what came of them. */
  readonly handshakes: Map<string, number>;
  /** Failures by code of the catalogue. */
  readonly errors: Map<string, number>;
}

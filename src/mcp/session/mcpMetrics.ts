import { clientRequests } from '../messages/mcpMethods.ts';
import type { Labels, Metrics, Sample } from '../../telemetry/index.ts';

/** The result of an attempt to continue a session of another process here. */
export type ResumptionOutcome = 'resumed' | 'unknown' | 'failed';

/** The result of an attempt to read a stream of another process. */
export type StreamOutcome = 'found' | 'unknown' | 'unavailable';

/** The outcome of a check. `unchecked`: the service could not be asked, and the message passed. */
export type CheckOutcome = 'passed' | 'changed' | 'refused' | 'failed' | 'unchecked';

/** The result of a call. `denied`: a rule hid the item; `failed`: the target could not answer. */
export type Outcome = 'ok' | 'error' | 'denied' | 'failed' | 'cancelled';

const outcomes: readonly Outcome[] = ['ok', 'error', 'denied', 'failed', 'cancelled'];

/** Seconds. */
const bounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** Counts of one method on one target, as plain numbers; they become samples when somebody reads the metrics. */
export class CallStats {
  readonly counts: Record<Outcome, number> = { ok: 0, error: 0, denied: 0, failed: 0, cancelled: 0 };
  readonly buckets: number[] = new Array<number>(bounds.length + 1).fill(0);
  sum = 0;

  /** @param ms from the request to the end of the call; the histogram holds answered calls only */
  ended(outcome: Outcome, ms: number): void {
    this.counts[outcome]++;
    if (outcome !== 'ok' && outcome !== 'error') return;
    const seconds = ms / 1_000;
    this.sum += seconds;
    let i = 0;
    while (i < bounds.length && seconds > bounds[i]!) i++;
    this.buckets[i]!++;
  }
}

export interface LiveCounts {
  readonly sessions: () => number;
  readonly children: () => number;
  /** The connections of all sessions to their targets. */
  readonly targets: () => Iterable<{ readonly name: string; readonly state: string }>;
}

function* connectionsOf(targets: ReturnType<LiveCounts['targets']>): Iterable<Sample> {
  const samples = new Map<string, { readonly labels: Labels; value: number }>();
  for (const { name: target, state } of targets) {
    const key = JSON.stringify([target, state]);
    const sample = samples.get(key);
    if (sample === undefined) samples.set(key, { labels: { target, state }, value: 1 });
    else sample.value++;
  }
  yield* samples.values();
}

/** Everything this room measures. */
export class McpMetrics {
  private readonly cells = new Map<string, Map<string, CallStats>>();
  private readonly restarts: { add(labels: Labels): void };
  private readonly replacements: { add(labels: Labels): void };
  private readonly takes: { add(labels: Labels): void };
  private readonly hiddenItems: { add(labels: Labels): void };
  private readonly changes: { add(labels: Labels): void };
  private readonly failures: { add(labels: Labels): void };
  private readonly resumptions: { add(labels: Labels): void };
  private readonly events: { add(labels: Labels, n?: number): void };
  private readonly streams: { add(labels: Labels): void };
  private readonly checks: { add(labels: Labels): void };
  private readonly peerMessages: { add(labels: Labels): void };

  constructor(metrics: Metrics, counts: LiveCounts) {
    metrics.collect('mcp_sessions', 'Live MCP sessions.', 'gauge', [], () => [
      { labels: {}, value: counts.sessions() },
    ]);
    metrics.collect('mcp_children', 'Child processes of stdio targets.', 'gauge', [], () => [
      { labels: {}, value: counts.children() },
    ]);
    metrics.collect(
      'mcp_target_sessions',
      'Sessions with a target, by the state of their connection to it.',
      'gauge',
      ['target', 'state'],
      () => connectionsOf(counts.targets()),
    );
    this.restarts = metrics.counter(
      'mcp_child_restarts_total',
      'Restarts of stdio targets, and sessions with remote ones begun again, within a live session.',
      ['target'],
    );
    this.replacements = metrics.counter(
      'mcp_child_replacements_total',
      'Children of stdio targets that were replaced, because a value of their caller changed or expired.',
      ['target'],
    );
    this.takes = metrics.counter(
      'mcp_children_taken_total',
      'Children of idle sessions that were stopped to make room for other sessions.',
      ['target'],
    );
    this.hiddenItems = metrics.counter(
      'mcp_hidden_items_total',
      'Items that no client can reach, because an item of another target has their name.',
      ['target'],
    );
    this.changes = metrics.counter(
      'mcp_changed_items_total',
      'Definitions of tools, prompts, templates and instructions that differ from their pins.',
      ['target'],
    );
    this.failures = metrics.counter(
      'mcp_target_failures_total',
      'Starts and restarts of a target that failed.',
      ['target'],
    );
    this.resumptions = metrics.counter(
      'mcp_session_resumptions_total',
      'Sessions of other processes that were to go on here, by outcome.',
      ['outcome'],
    );
    this.events = metrics.counter(
      'mcp_stored_events_total',
      'Events of streams for the shared store: written, or lost to other gateways.',
      ['outcome'],
    );
    this.streams = metrics.counter(
      'mcp_stream_resumptions_total',
      'Streams of other gateways that clients resumed here, by outcome.',
      ['outcome'],
    );
    this.checks = metrics.counter(
      'mcp_guardrail_checks_total',
      'Messages that guardrails checked, by phase (request, result) and outcome.',
      ['phase', 'outcome'],
    );
    this.peerMessages = metrics.counter(
      'mcp_peer_messages_total',
      'Messages to the other gateways of a session by the shared store: sent, or lost.',
      ['outcome'],
    );
    metrics.collect(
      'mcp_requests_total',
      'MCP requests by method, target and outcome.',
      'counter',
      ['method', 'target', 'outcome'],
      () => this.requests(),
    );
    metrics.collect(
      'mcp_call_duration_seconds',
      'Time from an MCP request to the response of its target.',
      'histogram',
      ['method', 'target'],
      () => this.durations(),
    );
  }

  cell(target: string, method: string): CallStats {
    let byMethod = this.cells.get(target);
    if (byMethod === undefined) this.cells.set(target, (byMethod = new Map<string, CallStats>()));
    // A client can make up methods; series must stay few.
    const name = clientRequests.has(method) ? method : 'other';
    let cell = byMethod.get(name);
    if (cell === undefined) byMethod.set(name, (cell = new CallStats()));
    return cell;
  }

  restarted(target: string): void {
    this.restarts.add({ target });
  }

  replaced(target: string): void {
    this.replacements.add({ target });
  }

  taken(target: string): void {
    this.takes.add({ target });
  }

  hidden(target: string): void {
    this.hiddenItems.add({ target });
  }

  changed(target: string): void {
    this.changes.add({ target });
  }

  targetFailed(target: string): void {
    this.failures.add({ target });
  }

  resumption(outcome: ResumptionOutcome): void {
    this.resumptions.add({ outcome });
  }

  storedEvents(outcome: 'written' | 'lost', count: number): void {
    if (count > 0) this.events.add({ outcome }, count);
  }

  streamResumption(outcome: StreamOutcome): void {
    this.streams.add({ outcome });
  }

  peerMessage(outcome: 'sent' | 'lost'): void {
    this.peerMessages.add({ outcome });
  }

  checked(phase: 'request' | 'result', outcome: CheckOutcome): void {
    this.checks.add({ phase, outcome });
  }

  private *requests(): Iterable<Sample> {
    for (const [labels, cell] of this.all())
      for (const outcome of outcomes)
        if (cell.counts[outcome] > 0) yield { labels: { ...labels, outcome }, value: cell.counts[outcome] };
  }

  private *durations(): Iterable<Sample> {
    for (const [labels, cell] of this.all()) {
      let total = 0;
      for (const [i, count] of cell.buckets.entries()) {
        total += count;
        const le = i < bounds.length ? String(bounds[i]) : '+Inf';
        yield { labels: { ...labels, le }, value: total, suffix: '_bucket' };
      }
      yield { labels, value: cell.sum, suffix: '_sum' };
      yield { labels, value: total, suffix: '_count' };
    }
  }

  private *all(): Iterable<[{ method: string; target: string }, CallStats]> {
    for (const [target, byMethod] of this.cells)
      for (const [method, cell] of byMethod) yield [{ method, target }, cell];
  }
}

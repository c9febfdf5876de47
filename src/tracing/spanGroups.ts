import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { SpanGroup } from './contract.ts';
import type { ExportQueue } from './exportQueue.ts';

/** Spans that one group holds until their request has ended. */
const maxHeld = 512;

/** Ended spans on their way to the queue: at once, or with the decision about their group. */
export class SpanGroups {
  private readonly queue: ExportQueue<ReadableSpan>;

  constructor(queue: ExportQueue<ReadableSpan>) {
    this.queue = queue;
  }

  open(): SpanGroup {
    return new HeldSpans(this.queue);
  }

  take(span: ReadableSpan, group: SpanGroup | undefined): void {
    if (group instanceof HeldSpans) group.add(span);
    else this.queue.add(span);
  }

  shutdown(): Promise<void> {
    return this.queue.shutdown();
  }
}

class HeldSpans implements SpanGroup {
  private readonly queue: ExportQueue<ReadableSpan>;
  private held: ReadableSpan[] = [];
  private kept: boolean | undefined;

  constructor(queue: ExportQueue<ReadableSpan>) {
    this.queue = queue;
  }

  add(span: ReadableSpan): void {
    if (this.kept === true) this.queue.add(span);
    else if (this.kept === undefined && this.held.length < maxHeld) this.held.push(span);
    else if (this.kept === undefined) this.queue.drop();
  }

  decide(keep: boolean): void {
    if (this.kept !== undefined) return;
    this.kept = keep;
    if (keep) for (const span of this.held) this.queue.add(span);
    this.held = [];
  }
}

import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type HrTime,
  type Link,
  type SpanContext,
} from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import {
  type OpenSpan,
  type SpanAttributes,
  type SpanGroup,
  type SpanPlace,
  type SpanStart,
} from './contract.ts';
import { newSpanId, newTraceId } from './ids.ts';
import { ownText } from './ownText.ts';

/** The parts of all spans that are the same. */
export interface SpanSource extends Pick<ReadableSpan, 'resource' | 'instrumentationScope'> {
  /** Takes a span that has ended. */
  readonly take: (span: ReadableSpan, group: SpanGroup | undefined) => void;
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
/** Attributes of a span. */
const most = 128;
const noEvents: ReadableSpan['events'] = [];
const noLinks: Link[] = [];
const unset: ReadableSpan['status'] = { code: SpanStatusCode.UNSET };
const failed: ReadableSpan['status'] = { code: SpanStatusCode.ERROR };
const notYet: HrTime = [0, 0];

/** A span in the form that the exporters of the libraries read. Their own span would copy each attribute three times. */
export class RecordedSpan implements OpenSpan, ReadableSpan {
  readonly place: SpanPlace;
  readonly kind: SpanKind;
  readonly parentSpanContext?: SpanContext;
  readonly attributes: Record<string, string | number | boolean> = {};
  readonly links: Link[];
  readonly events = noEvents;
  readonly resource: ReadableSpan['resource'];
  readonly instrumentationScope: ReadableSpan['instrumentationScope'];
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  name: string;
  status = unset;
  startTime = notYet;
  endTime = notYet;
  duration = notYet;
  ended = false;
  droppedAttributesCount = 0;
  private count = 0;
  private readonly source: SpanSource;
  private readonly group: SpanGroup | undefined;
  private readonly startedAt: number;
  private readonly tick = performance.now();

  constructor({ name, kind, parent, link, startedAt, attributes, group }: SpanStart, source: SpanSource) {
    this.place = {
      traceId: parent === undefined ? newTraceId() : ownText(parent.traceId),
      spanId: newSpanId(),
    };
    this.name = ownText(name);
    this.kind = kinds[kind];
    if (parent !== undefined) this.parentSpanContext = remote(parent);
    this.links = link === undefined ? noLinks : [{ context: remote(link) }];
    this.resource = source.resource;
    this.instrumentationScope = source.instrumentationScope;
    this.source = source;
    this.group = group;
    this.startedAt = startedAt ?? Date.now();
    this.set(attributes);
  }

  get traceparent(): string {
    return `00-${this.place.traceId}-${this.place.spanId}-01`;
  }

  spanContext(): SpanContext {
    return { ...this.place, traceFlags: TraceFlags.SAMPLED };
  }

  set(more: SpanAttributes): void {
    const { attributes } = this;
    for (const name in more) {
      const value = more[name];
      if (value === undefined) continue;
      if (!Object.hasOwn(attributes, name) && ++this.count > most) {
        this.droppedAttributesCount++;
        continue;
      }
      attributes[name] = typeof value === 'string' ? ownText(value) : value;
    }
  }

  rename(name: string): void {
    this.name = ownText(name);
  }

  end(error?: string): void {
    if (this.ended) return;
    this.ended = true;
    if (error !== undefined) {
      this.set({ 'error.type': error });
      this.status = failed;
    }
    const ms = performance.now() - this.tick;
    this.startTime = hrTime(this.startedAt);
    this.endTime = hrTime(this.startedAt + ms);
    this.duration = hrTime(ms);
    this.source.take(this, this.group);
  }
}

const remote = ({ traceId, spanId }: SpanPlace): SpanContext => ({
  traceId: ownText(traceId),
  spanId: ownText(spanId),
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

/** Seconds and nanoseconds of milliseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.floor((ms - seconds * 1_000) * 1_000_000)];
}

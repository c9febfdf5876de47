/** The version of the semantic conventions that names and attributes of spans follow. */
export const conventions = '1.39.0';

/** Longest text of an attribute, in characters. */
export const maxAttribute = 4_096;

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A span of this process, or of another one. */
export interface SpanPlace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client';
  /** Absent: the span begins a trace. */
  readonly parent?: SpanPlace | undefined;
  readonly link?: SpanPlace | undefined;
  /** Milliseconds since the epoch; now unless given. */
  readonly startedAt?: number;
  readonly attributes: SpanAttributes;
  /** Absent: the span is exported when it has ended. */
  readonly group?: SpanGroup | undefined;
}

/** Spans that are exported together or not at all, as a later decision says. */
export interface SpanGroup {
  decide(keep: boolean): void;
}

/** A span that has begun. It is exported when it has ended. */
export interface OpenSpan {
  readonly place: SpanPlace;
  /** The W3C `traceparent` of requests below this span. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** @param error the reason why the operation failed (`error.type`) */
  end(error?: string): void;
}

/** Begins spans. The caller has decided that they are sampled. */
export interface Spans {
  begin(start: SpanStart): OpenSpan;
  /** Opens a group for the spans of one request. */
  group(): SpanGroup;
}

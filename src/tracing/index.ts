export type { OpenSpan, SpanAttributes, SpanPlace, Spans, SpanStart } from './contract.ts';
export { Tracing } from './tracing.ts';

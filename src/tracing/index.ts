export { maxAttribute } from './contract.ts';
export type { OpenSpan, SpanAttributes, SpanGroup, SpanPlace, Spans, SpanStart } from './contract.ts';
export { LogExport } from './logExport.ts';
export { Tracing } from './tracing.ts';

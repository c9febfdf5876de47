import type { OpenSpan } from '../../tracing/index.ts';

/** The spans of one request. */
export interface RequestSpan {
  readonly server: OpenSpan;
  /** The newest request to a backend. */
  upstream: OpenSpan | undefined;
}

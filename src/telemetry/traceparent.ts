/** W3C Trace Context, level 1. */
export interface TraceContext {
  readonly version: string;
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero: the caller's span. */
  readonly parentId: string;
  readonly sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const noTrace = '0'.repeat(32);
const noParent = '0'.repeat(16);

/**
 * Reads a `traceparent` header; undefined where it must be ignored (§3.2.2). Version `ff` is forbidden, version 00
 * has nothing behind the flags, and a later version may have more, after a dash (§3.2.2, §3.2.4).
 */
export const parseTraceparent = (header: string): TraceContext | undefined => {
  const match = form.exec(header);
  if (match === null) return undefined;
  const [, version = '', traceId = '', parentId = '', flags = '', more] = match;
  if (version === 'ff' || traceId === noTrace || parentId === noParent) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { version, traceId, parentId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
};

import type { AccessRecord } from './contract.ts';
import { redactText } from './redact.ts';
import { timestamp } from './timestamp.ts';
import { parseTraceparent } from './traceparent.ts';

export const decisionFields = ['policy', 'rule', 'place'] as const;

/** A rule may be a long expression; the place leads to the whole of it. */
const maxDecisionLength = 512;

/** The text of a rule or its place, short and without secrets. */
export const shownDecision = (value: string): string => {
  const text = redactText(value);
  return text.length > maxDecisionLength ? `${text.slice(0, maxDecisionLength)}…` : text;
};

type FieldValue = string | number | boolean | object;

const microseconds = (ms: number): number => Math.round(ms * 1_000) / 1_000;

/** The fields of a record as the JSON line has them, without the added ones. Fields without a value are left out. */
export function accessFieldsOf(r: AccessRecord): Record<string, FieldValue> {
  const trace = r.traceparent === undefined ? undefined : parseTraceparent(r.traceparent);
  const fields: Record<string, FieldValue | undefined> = {
    time: timestamp(r.time),
    status: r.status,
    method: r.method,
    host: r.host,
    path: r.path,
    durationMs: microseconds(r.durationMs),
    requestBytes: r.requestBytes,
    responseBytes: r.responseBytes,
    client: r.client,
    requestId: r.requestId,
    bind: r.bind,
    listener: r.listener,
    route: r.route,
    backend: r.backend,
    upstreamMs: r.upstreamMs === undefined ? undefined : microseconds(r.upstreamMs),
    subject: r.subject,
    error: r.error,
    reason: r.reason === undefined ? undefined : redactText(r.reason),
    traceId: trace?.traceId,
    parentSpanId: trace?.parentId,
  };
  for (const name of decisionFields) {
    const value = r.decidedBy?.[name];
    if (value !== undefined) fields[name] = shownDecision(value);
  }
  for (const [name, value] of Object.entries(r.extra ?? {}))
    fields[name] = typeof value === 'number' ? value : redactText(value);
  for (const [name, value] of Object.entries(fields)) if (value === undefined) delete fields[name];
  return fields as Record<string, FieldValue>;
}

import type { AccessLog, AccessRecord, Logger, Metrics } from './contract.ts';
import { decisionFields, shownDecision } from './accessFields.ts';
import { redactText } from './redact.ts';
import { Sink, type Destination } from './sink.ts';
import { escapeControls, textValue } from './textLine.ts';
import { threeDigits, timestamp } from './timestamp.ts';
import { parseTraceparent } from './traceparent.ts';

export interface AccessLogOptions {
  /** stdout unless given. */
  readonly destination?: Destination;
  /** Told when lines had to be dropped. */
  readonly log?: Logger;
  readonly metrics?: Metrics;
  /** Names of fields that lines do not have. */
  readonly removed?: readonly string[];
}

/** A batch is one write: 16 KiB amortise it to nothing, a fifth of a second keeps `tail -f` alive. */
const flushAt = 16_384;
const flushMs = 200;

/** Characters that JSON must escape; lone surrogates would not survive UTF-8. */
const unsafeInJson = /["\\\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]/;

const json = (value: string): string =>
  unsafeInJson.test(value) ? escapeControls(JSON.stringify(value)) : `"${value}"`;

/** Milliseconds with three decimals, without the slow path of number formatting. */
const milliseconds = (ms: number): string => {
  const micros = Math.round(ms * 1_000);
  const whole = Math.floor(micros / 1_000);
  return `${String(whole)}.${threeDigits[micros - whole * 1_000] ?? '000'}`;
};

/** Milliseconds with one decimal, for people. */
const roughMilliseconds = (ms: number): string => {
  const tenths = Math.round(ms * 10);
  return `${String(Math.floor(tenths / 10))}.${String(tenths % 10)}`;
};

/*
 * Both forms are built by concatenation, field by field: this runs once per request, and a loop over a table of
 * fields costs several times as much as everything below.
 */

const jsonLine = (r: AccessRecord): string => {
  let line =
    `{"time":"${timestamp(r.time)}","status":${String(r.status)},"method":${json(r.method)},"host":${json(r.host)}` +
    `,"path":${json(r.path)},"durationMs":${milliseconds(r.durationMs)},"requestBytes":${String(r.requestBytes)}` +
    `,"responseBytes":${String(r.responseBytes)},"client":${json(r.client)},"requestId":${json(r.requestId)}` +
    `,"bind":${json(r.bind)}`;
  if (r.listener !== undefined) line += `,"listener":${json(r.listener)}`;
  if (r.route !== undefined) line += `,"route":${json(r.route)}`;
  if (r.backend !== undefined) line += `,"backend":${json(r.backend)}`;
  if (r.upstreamMs !== undefined) line += `,"upstreamMs":${milliseconds(r.upstreamMs)}`;
  if (r.subject !== undefined) line += `,"subject":${json(r.subject)}`;
  if (r.error !== undefined) line += `,"error":${json(r.error)}`;
  if (r.reason !== undefined) line += `,"reason":${json(redactText(r.reason))}`;
  if (r.decidedBy !== undefined)
    for (const name of decisionFields) {
      const value = r.decidedBy[name];
      if (value !== undefined) line += `,"${name}":${json(shownDecision(value))}`;
    }
  const trace = r.traceparent === undefined ? undefined : parseTraceparent(r.traceparent);
  if (trace !== undefined) line += `,"traceId":"${trace.traceId}","parentSpanId":"${trace.parentId}"`;
  if (r.extra !== undefined)
    for (const name in r.extra) {
      const value = r.extra[name]!;
      line += `,${json(name)}:${typeof value === 'number' ? jsonNumber(value) : json(redactText(value))}`;
    }
  if (r.added !== undefined)
    for (const [name, value] of Object.entries(r.added))
      line += `,${json(name)}:${typeof value === 'string' ? json(value) : escapeControls(JSON.stringify(value))}`;
  return `${line}}\n`;
};

/** JSON has no NaN and no infinities. */
const jsonNumber = (value: number): string => (Number.isFinite(value) ? String(value) : 'null');

const textLine = (r: AccessRecord): string => {
  let line =
    `${timestamp(r.time)} ${String(r.status)} ${textValue(r.method)} ${textValue(r.host + r.path)} ` +
    `${roughMilliseconds(r.durationMs)}ms client=${textValue(r.client)}`;
  if (r.route !== undefined) line += ` route=${textValue(r.route)}`;
  if (r.backend !== undefined) line += ` backend=${textValue(r.backend)}`;
  if (r.subject !== undefined) line += ` subject=${textValue(r.subject)}`;
  if (r.error !== undefined) line += ` error=${textValue(r.error)}`;
  if (r.reason !== undefined) line += ` reason=${textValue(redactText(r.reason))}`;
  if (r.decidedBy !== undefined)
    for (const name of decisionFields) {
      const value = r.decidedBy[name];
      if (value !== undefined) line += ` ${name}=${textValue(shownDecision(value))}`;
    }
  const trace = r.traceparent === undefined ? undefined : parseTraceparent(r.traceparent);
  if (trace !== undefined) line += ` trace=${trace.traceId}`;
  if (r.extra !== undefined)
    // The same as over `Object.entries`, at a third of the cost: every request has such fields.
    for (const name in r.extra) {
      const value = r.extra[name]!;
      line += ` ${textValue(name)}=${textValue(typeof value === 'string' ? redactText(value) : String(value))}`;
    }
  if (r.added !== undefined)
    for (const [name, value] of Object.entries(r.added))
      line += ` ${textValue(name)}=${textValue(typeof value === 'string' ? value : JSON.stringify(value))}`;
  return `${line} id=${textValue(r.requestId)}\n`;
};

/** Line makers without some fields. They cost more than the others, and only where fields are removed. */
const without: Readonly<
  Record<'json' | 'text', (removed: readonly string[]) => (r: AccessRecord) => string>
> = {
  json: (removed) => (r) => {
    const line = JSON.parse(jsonLine({ ...r, added: undefined })) as Record<string, unknown>;
    for (const name of removed) delete line[name];
    return `${escapeControls(JSON.stringify({ ...line, ...r.added }))}\n`;
  },
  // The first parts of a text line have fixed places.
  text: (removed) => {
    const gone = new Set(removed);
    const unset = Object.fromEntries(
      removed.map((name) => [name === 'traceId' ? 'traceparent' : name, fixed.has(name) ? '-' : undefined]),
    );
    return (r) =>
      textLine({
        ...r,
        ...unset,
        decidedBy: r.decidedBy && withoutNames(r.decidedBy, gone),
        extra: r.extra && withoutNames(r.extra, gone),
      });
  },
};

/** Fields that every text line has. */
const fixed: ReadonlySet<string> = new Set(['method', 'host', 'path', 'client', 'requestId']);

const withoutNames = <T extends object>(fields: T, gone: ReadonlySet<string>): T =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !gone.has(name))) as T;

/**
 * The destination of access lines: in batches, and lines that the destination did not take are counted and warned
 * about.
 */
export const accessSink = (options: AccessLogOptions = {}): Sink => {
  const dropped = options.metrics?.counter(
    'access_log_dropped_total',
    'Access log lines that their destination did not take.',
    [],
  );
  return new Sink(options.destination ?? 1, {
    flushAt,
    flushMs,
    onDrop: (lines) => {
      dropped?.add({}, lines);
      options.log?.warn('Access log lines dropped: the destination is too slow', { lines });
    },
  });
};

/**
 * The access log: one line per finished request, in the order they finished. Lines are gathered and written in
 * batches; a destination that does not keep up costs lines (counted in `portcullis_access_log_dropped_total` and
 * warned about), never memory or time.
 */
export const createAccessLog = (
  kind: 'json' | 'text' | 'none',
  options: AccessLogOptions = {},
): AccessLog => {
  if (kind === 'none') return { write: () => {}, close: () => {} };
  const sink = accessSink(options);
  const { removed = [] } = options;
  const whole = kind === 'json' ? jsonLine : textLine;
  const format = removed.length === 0 ? whole : without[kind](removed);
  return {
    write: (record) => sink.write(format(record)),
    close: () => sink.close(),
  };
};

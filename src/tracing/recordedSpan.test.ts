import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { parseTraceparent } from '../telemetry/index.ts';
import { RecordedSpan, type SpanSource } from './recordedSpan.ts';
import { resourceOf } from './resource.ts';

function spansWith(): { readonly source: SpanSource; readonly taken: ReadableSpan[] } {
  const taken: ReadableSpan[] = [];
  return {
    taken,
    source: {
      resource: resourceOf(),
      instrumentationScope: { name: 'test' },
      take: (span) => void taken.push(span),
    },
  };
}

test('a span is taken once, when it has ended, with its last name and its attributes', () => {
  const { source, taken } = spansWith();
  const startedAt = 1_795_476_307_123;
  const span = new RecordedSpan(
    { name: 'GET', kind: 'server', startedAt, attributes: { a: 1, b: undefined, c: 'first' } },
    source,
  );
  span.set({ c: 'second', d: true, e: undefined });
  span.rename('GET /a');
  assert.equal(taken.length, 0);
  span.end('500');
  span.end();
  const [ended] = taken;
  assert.equal(taken.length, 1);
  assert.equal(ended?.name, 'GET /a');
  assert.deepEqual(ended?.attributes, { a: 1, c: 'second', d: true, 'error.type': '500' });
  assert.equal(ended?.status.code, 2);
  assert.deepEqual(ended?.startTime, [1_795_476_307, 123_000_000]);
  const [seconds, nanoseconds] = ended?.endTime ?? [0, 0];
  assert.ok(seconds > 1_795_476_307 || nanoseconds >= 123_000_000);
});

test('a span continues the trace of its parent, or begins one', () => {
  const { source } = spansWith();
  const start = { name: 'a', kind: 'client', attributes: {} } as const;
  const first = new RecordedSpan(start, source);
  const second = new RecordedSpan({ ...start, parent: first.place, link: first.place }, source);
  for (const { traceparent, place } of [first, second])
    assert.partialDeepStrictEqual(parseTraceparent(traceparent), {
      traceId: place.traceId,
      parentId: place.spanId,
      sampled: true,
    });
  assert.equal(second.place.traceId, first.place.traceId);
  assert.notEqual(second.place.spanId, first.place.spanId);
  assert.equal(second.parentSpanContext?.spanId, first.place.spanId);
  assert.equal(second.links[0]?.context.spanId, first.place.spanId);
  const ids = new Set(Array.from({ length: 2_000 }, () => new RecordedSpan(start, source).place.traceId));
  assert.equal(ids.size, 2_000);
});

test('attributes have limits, and those beyond them are counted', () => {
  const { source, taken } = spansWith();
  const many = Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`name${index}`, index]));
  const span = new RecordedSpan(
    { name: 'a', kind: 'client', attributes: { long: 'x'.repeat(5_000) } },
    source,
  );
  span.set(many);
  span.set({ long: 'y'.repeat(5_000), name0: 'again' });
  span.end();
  const [ended] = taken;
  assert.equal(Object.keys(ended?.attributes ?? {}).length, 128);
  assert.equal(ended?.droppedAttributesCount, 3);
  assert.equal(ended?.attributes['long'], 'y'.repeat(4_096));
  assert.equal(ended?.attributes['name0'], 'again');
});

test('spans that wait do not keep the texts alive that their attributes were a piece of', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { source, taken } = spansWith();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 200; at++) {
    const head = Buffer.alloc(200_000, `user-agent: a usual client ${at} `).toString('latin1');
    const piece = head.slice(1_000, 1_030);
    const parent = { traceId: head.slice(2_000, 2_032), spanId: head.slice(3_000, 3_016) };
    const span = new RecordedSpan(
      { name: `tools/call ${piece}`, kind: 'server', parent, link: parent, attributes: { piece } },
      source,
    );
    span.end();
  }
  collect();
  assert.equal(taken.length, 200);
  assert.ok(process.memoryUsage().heapUsed - before < 20_000_000);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { createMetrics } from '../../telemetry/index.ts';
import type { Call } from '../api/api.ts';
import { resourceOfKind } from '../kinds.ts';
import type { StatusKind, StatusUpdate } from '../translate/index.ts';
import { ManualClock } from '../../stream/clock.testing.ts';
import { StatusWriter, type StatusWriterOptions } from './statusWriter.ts';

/** A writer whose writes last until they are told to end. */
function setUp(options: Partial<StatusWriterOptions> = {}): {
  readonly writer: StatusWriter;
  readonly clock: ManualClock;
  /** Names of the objects whose status was sent, in the order of sending. */
  readonly sent: string[];
  /** Lets so many writes end. */
  finish(count: number): Promise<void>;
} {
  const clock = new ManualClock();
  const sent: string[] = [];
  const ends: (() => void)[] = [];
  const writer = new StatusWriter({
    api: {
      request: async ({ body }: Call) => {
        sent.push((body as { readonly metadata: { readonly name: string } }).metadata.name);
        await new Promise<void>((resolve) => ends.push(resolve));
        return {};
      },
    },
    resourceOf: resourceOfKind,
    mayWrite: () => true,
    onStale: () => {},
    log: memoryLog().log,
    metrics: createMetrics({ process: false }),
    clock,
    ...options,
  });
  return {
    writer,
    clock,
    sent,
    finish: async (count) => {
      for (const end of ends.splice(0, count)) end();
      await clock.advance(0);
    },
  };
}

const update = (kind: StatusKind, name: string, status: object = {}): StatusUpdate => ({
  kind,
  ...(kind === 'GatewayClass' ? {} : { namespace: 'default' }),
  name,
  resourceVersion: '1',
  status,
  changed: true,
});

const routes = (count: number): StatusUpdate[] =>
  Array.from({ length: count }, (_, index) => update('HTTPRoute', `route-${String(index)}`));

test('statuses of Gateways are written before those of waiting routes', async () => {
  const { writer, clock, sent, finish } = setUp();
  const before = routes(20);
  writer.submit(before);
  await clock.advance(0);
  const first = sent.splice(0);
  assert.equal(first.length, 16);
  writer.submit([...before, update('Gateway', 'gateway'), update('GatewayClass', 'class')]);
  await finish(16);
  assert.deepEqual(sent, ['gateway', 'class', 'route-16', 'route-17', 'route-18', 'route-19']);
  await finish(6);
  await writer.idle();
});

test('statuses wait for writes that traffic depends on', async () => {
  let making = true;
  const { writer, clock, sent, finish } = setUp({ givesWay: () => making });
  writer.submit(routes(30));
  await clock.advance(0);
  assert.equal(sent.length, 2);
  await finish(1);
  assert.equal(sent.length, 3);
  making = false;
  await finish(1);
  assert.equal(sent.length, 2 + 16);
  await finish(16);
  await finish(16);
  await writer.idle();
  assert.equal(sent.length, 30);
});

test('the status of an object in creation is written once, when it is complete', async () => {
  let making = true;
  const { writer, clock, sent, finish } = setUp({ isUnsettled: ({ kind }) => making && kind === 'Gateway' });
  writer.submit([update('Gateway', 'gateway', { addresses: [] }), ...routes(1)]);
  await clock.advance(1_000);
  assert.deepEqual(sent, ['route-0']);
  await finish(1);
  making = false;
  writer.submit([update('Gateway', 'gateway', { addresses: [{ value: '198.18.0.1' }] })]);
  await clock.advance(0);
  assert.deepEqual(sent, ['route-0', 'gateway']);
  await finish(1);
  await clock.advance(60_000);
  assert.equal(sent.length, 2);
  await writer.close();
});

test('a status does not wait for ever for more to say', async () => {
  const { writer, clock, sent, finish } = setUp({ isUnsettled: () => true });
  writer.submit([update('Gateway', 'gateway')]);
  await clock.advance(6_000);
  // The same again does not put it off.
  writer.submit([update('Gateway', 'gateway')]);
  await clock.advance(3_999);
  assert.deepEqual(sent, []);
  await clock.advance(1);
  assert.deepEqual(sent, ['gateway']);
  await finish(1);
  await writer.close();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { ReplyStream } from '../../http/index.ts';
import { SseStream } from './sseStream.ts';

/** A stream to a client, whose writes and end are recorded. */
function start() {
  const written: string[] = [];
  let drained = (): void => undefined;
  const state = { closed: false, destroyed: false };
  const stream: ReplyStream = {
    get closed() {
      return state.closed;
    },
    pendingBytes: 7,
    write: (chunk) => written.push(chunk.toString()) < 3,
    onDrain: (listener) => void (drained = listener),
    end: () => void (state.closed = true),
    destroy: () => void (state.destroyed = true),
  };
  return { sse: new SseStream(stream), written, state, drain: () => drained() };
}

test('the parts of a stream share its writes, its back-pressure and its connection', () => {
  const { sse, written, state, drain } = start();
  const drained: string[] = [];
  const news = sse.news();
  const part = sse.answer('1').open();
  news.onDrain(() => drained.push('news'));
  part.onDrain(() => drained.push('part'));
  assert.deepEqual([news.write('a'), part.write('b'), part.write('c')], [true, true, false]);
  assert.deepEqual(written, ['a', 'b', 'c']);
  assert.equal(part.pendingBytes, 7);
  drain();
  part.end();
  drain();
  assert.deepEqual(drained, ['news', 'part', 'news']);
  assert.deepEqual([part.closed, news.closed, state.closed], [true, false, false]);
  news.destroy();
  assert.ok(state.destroyed);
});

test('the stream ends with its news, when the last answer is complete', () => {
  const { sse, state } = start();
  const [first, second] = [sse.answer('1'), sse.answer('2')];
  const part = first.open();
  sse.news().end();
  assert.deepEqual([sse.ending, state.closed], [true, false]);
  second.send({ status: 202 });
  assert.equal(state.closed, false);
  part.end();
  assert.equal(state.closed, true);
});

test('an answer that is no stream becomes one event, and a receipt none', () => {
  const { sse, written } = start();
  sse.answer('1').send({ status: 404, body: '{"error":1}' });
  sse.answer(undefined).send({ status: 202 });
  sse.answer('"x"').fail(new GatewayError('mcp_session_unknown'));
  sse.answer('5').fail(new Error('a defect'));
  assert.equal(written[0], 'event: message\ndata: {"error":1}\n\n');
  assert.match(written[1] ?? '', /^event: message\ndata: \{"jsonrpc":"2.0","id":"x","error":/);
  assert.match(written[2] ?? '', /"id":5/);
  assert.ok(!written.join('').includes('a defect'));
  assert.equal(written.length, 3);
});

test('whoever waits for the end of an answer hears of it once, also where the client leaves', () => {
  const { sse } = start();
  const ended: string[] = [];
  const complete = sse.answer('1');
  complete.onClose(() => ended.push('complete'));
  const part = complete.open();
  part.end();
  part.end();
  const left = sse.answer('2');
  left.onClose(() => ended.push('left'));
  sse.left();
  sse.left();
  assert.deepEqual(ended, ['complete', 'left']);
  assert.ok(complete.closed && left.closed);
});

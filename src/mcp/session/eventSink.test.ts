import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplyStream } from '../../http/index.ts';
import { EventSink } from './eventSink.ts';
import { JournalStore } from './journal.ts';
import { EventParts, JsonParts } from './largeAnswer.ts';
import { PacedStream } from './pacedStream.ts';
import { RetainedMemory, RetainedMemoryPool } from '../limits/retainedMemory.ts';

/** A client that takes nothing until it is told to. */
function slowClient() {
  const state = {
    written: '',
    pending: 0,
    closed: false,
    destroyed: false,
    drained: (): void => undefined,
    /** Gives the memory of what waits back. */
    lent: [] as (() => void)[],
  };
  const stream: ReplyStream = {
    get closed() {
      return state.closed;
    },
    get pendingBytes() {
      return state.pending;
    },
    write: (chunk, release) => {
      state.written += chunk.toString();
      state.pending += chunk.length;
      if (release !== undefined) state.lent.push(release);
      return false;
    },
    onDrain: (listener) => {
      state.drained = listener;
    },
    end: () => {
      state.closed = true;
    },
    destroy: () => {
      state.closed = true;
      state.destroyed = true;
    },
  };
  const held = { count: 0 };
  const gauge = { pressed: () => void held.count++, eased: () => void held.count-- };
  return {
    state,
    held,
    json: new JsonParts(new PacedStream(stream, gauge)),
    sink: new EventSink(
      stream,
      gauge,
      new JournalStore(new RetainedMemory(new RetainedMemoryPool(), 'ada')).open(),
    ),
  };
}

test('a client that reads too slowly holds its session back until it has caught up', () => {
  const { state, held, sink } = slowClient();
  sink.send('x'.repeat(1_000_000));
  assert.equal(held.count, 0, 'a little may wait');
  sink.send('x'.repeat(100_000));
  assert.equal(held.count, 1);
  state.pending = 0;
  state.drained();
  assert.equal(held.count, 0);
});

test('a stream whose client reads nothing between two ticks is cut, and its session continues', () => {
  const { state, held, sink } = slowClient();
  sink.send('x'.repeat(4_000_000));
  sink.tick(0);
  assert.equal(state.destroyed, false);
  state.pending -= 1_000;
  sink.tick(0);
  assert.equal(state.destroyed, false, 'a slow reader is no dead one');
  sink.tick(0);
  assert.equal(state.destroyed, true);
  assert.equal(held.count, 0);
});

test('a stream that ends while it holds its session back lets it go', () => {
  const { held, sink } = slowClient();
  sink.send('x'.repeat(4_000_000));
  sink.dropped();
  sink.end();
  assert.equal(held.count, 0);
});

test('a message with a bare carriage return cannot begin a field of the event stream', () => {
  const { state, sink } = slowClient();
  sink.send('{"a":1,\r"id":"evil"}');
  assert.equal(state.written, 'event: message\nid: 1-1\ndata: {"a":1,\ndata: "id":"evil"}\n\n');
});

test('the memory of a part of a response is lent until the client has taken the part, or has left', () => {
  for (const way of ['events', 'JSON']) {
    const { state, sink, json } = slowClient();
    const parts = way === 'JSON' ? json : new EventParts(sink, () => undefined);
    if (way === 'events') sink.beginParts('{}');
    const back: string[] = [];
    parts.write(Buffer.from('a'), () => back.push('a'));
    assert.equal(back.length, 0);
    for (const release of state.lent) release();
    assert.equal(back.join(), 'a');
    state.closed = true;
    parts.write(Buffer.from('b'), () => back.push('b'));
    assert.equal(back.join(), 'a,b');
  }
});

/** The output for a client waits in little memory, and goes out in order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAME } from './codes.ts';
import { framesOf } from './memory.testing.ts';
import { Output, type Sink } from './output.ts';

/** A client that takes nothing until it is told to. */
class Waiting implements Sink {
  readonly pieces: Buffer[] = [];
  private readonly done: (() => void)[] = [];

  behind(): boolean {
    return this.pieces.length > 0;
  }

  cork(): void {}

  uncork(): void {}

  write(bytes: Buffer, done: () => void): void {
    this.pieces.push(bytes);
    this.done.push(done);
  }

  /** Memory that may not be used for anything else meanwhile. */
  get kept(): number {
    return [...new Set(this.pieces.map(({ buffer }) => buffer))].reduce(
      (sum, { byteLength }) => sum + byteLength,
      0,
    );
  }

  take(): Buffer {
    const bytes = Buffer.concat(this.pieces.splice(0));
    for (const done of this.done.splice(0)) done();
    return bytes;
  }
}

test('bytes that wait for a slow client use at most one page of extra memory', () => {
  const sink = new Waiting();
  const output = new Output(() => undefined);
  const bytes = Buffer.alloc(8);
  for (let i = 0; i < 1_000; i++) {
    bytes.writeUInt32BE(i);
    output.frame(FRAME.ping, 1, 0, bytes);
    output.flush(sink);
  }
  assert.ok(sink.kept < 1_000 * 17 + 40_000, `${sink.kept} bytes`);
  const numbers = framesOf(sink.take()).map(({ payload }) => payload.readUInt32BE());
  assert.deepEqual(
    numbers,
    Array.from({ length: 1_000 }, (_, i) => i),
  );
});

test('a waiting page is not reused', () => {
  const sink = new Waiting();
  const [one, other] = [new Output(() => undefined), new Output(() => undefined)];
  const body = Buffer.alloc(16_384, 'a');
  for (let i = 0; i < 5; i++) one.data(1, body, 0, body.length, false);
  one.flush(sink);
  one.data(1, body, 0, 100, true);
  one.flush(sink);
  for (let i = 0; i < 5; i++) other.data(1, Buffer.alloc(16_384, 'b'), 0, 16_384, false);
  const frames = framesOf(sink.take());
  assert.equal(frames.length, 6);
  assert.ok(frames.every(({ payload }) => payload.every((byte) => byte === 97)));
});

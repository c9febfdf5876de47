import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ChildInput } from './childInput.ts';
import { handleOf } from './pipeHandle.ts';

/** A pipe whose reader takes a piece when the test says so. */
class SlowPipe extends Writable {
  readonly taken: Buffer[] = [];
  private take: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.take = () => {
      this.taken.push(chunk);
      done();
    };
  }

  get waits(): boolean {
    return this.take !== undefined;
  }

  get text(): string {
    return Buffer.concat(this.taken).toString();
  }

  /** The reader takes one piece; resolves when the writer has had its turn. */
  async one(): Promise<void> {
    const { take } = this;
    this.take = undefined;
    take?.();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('short lines go out together, and a long one in pieces that wait for the child to read', async () => {
  const pipe = new SlowPipe();
  const input = new ChildInput(pipe);
  input.write('a');
  input.write('b');
  input.flush();
  await pipe.one();
  assert.equal(pipe.taken.length, 1);
  const long = '𝄞é"x'.repeat(200_000);
  input.write(long);
  input.flush();
  input.write('behind');
  input.flush();
  assert.ok(pipe.writableLength < 1_000_000, 'the pipe has one piece of it');
  assert.ok(input.backlog >= long.length);
  while (pipe.waits) await pipe.one();
  assert.ok(pipe.taken.length >= 5, `${pipe.taken.length} pieces`);
  assert.equal(pipe.text, `a\nb\n${long}\nbehind\n`);
  assert.equal(input.backlog, 0);
});

test('no piece ends within a pair of surrogates', async () => {
  for (const before of ['', 'x']) {
    const pipe = new SlowPipe();
    const input = new ChildInput(pipe);
    const long = before + '𝄞'.repeat(300_000);
    input.write(long);
    input.flush();
    while (pipe.waits) await pipe.one();
    assert.equal(pipe.text, `${long}\n`);
  }
});

test('closing writes the rest of a long line and the queued lines', async () => {
  const pipe = new SlowPipe();
  const input = new ChildInput(pipe);
  const long = 'x'.repeat(1_000_000);
  input.write(long);
  input.flush();
  await pipe.one();
  input.write('behind');
  input.end();
  while (pipe.waits) await pipe.one();
  assert.equal(pipe.text, `${long}\nbehind\n`);
  assert.ok(pipe.writableFinished);
});

test('a pipe that is gone takes the rest of a long line with it', async () => {
  const pipe = new SlowPipe();
  const input = new ChildInput(pipe);
  input.write('x'.repeat(1_000_000));
  input.flush();
  pipe.destroy();
  await pipe.one();
  assert.equal(input.backlog - pipe.writableLength, 0);
});

test('a child that reads late gets every byte once and in order', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  child.kill('SIGSTOP');
  const input = new ChildInput(child.stdin);
  const texts = ['𝄞é"x'.repeat(50_000), 'b', 'é'.repeat(100_000), 'c'];
  for (const text of texts) {
    input.write(text);
    input.flush();
  }
  assert.ok(input.backlog > 100_000, 'the pipe has no room for all of it');
  input.end();
  child.kill('SIGCONT');
  assert.equal(await text(child.stdout), texts.map((one) => `${one}\n`).join(''));
});

test('an input whose pipe is closed writes nothing', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'inherit'] });
  const input = new ChildInput(child.stdin);
  child.kill('SIGKILL');
  await once(child, 'close');
  assert.equal(handleOf(child.stdin), undefined);
  input.write('late');
  input.flush();
  assert.equal(input.backlog, 0);
});

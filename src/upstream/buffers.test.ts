import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { buffersInUse, ReadBuffers, shared } from './buffers.ts';

/** The events of a read of one of several sockets, or of a completed write. */
const step = fc.oneof(
  fc.record({
    socket: fc.nat(3),
    length: fc.constantFrom(100, 40_000, 65_536),
    known: fc.constantFrom(0, 100, 1_000_000),
    lends: fc.boolean(),
    ends: fc.boolean(),
  }),
  fc.record({ written: fc.nat(7) }),
);

test('lent bytes are not overwritten before they are returned', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const sockets = Array.from({ length: 4 }, () => new ReadBuffers());
      const current = sockets.map((socket) => socket.forNextRead());
      const lent: { bytes: Buffer; release: () => void }[] = [];
      for (const next of steps) {
        if ('written' in next) {
          const [through] = lent.splice(next.written, 1);
          through?.release();
          continue;
        }
        const socket = sockets[next.socket] as ReadBuffers;
        const bytes = current[next.socket] as Buffer;
        socket.attached = true;
        socket.expect(next.length, next.known);
        const release = next.lends ? socket.lend(bytes) : undefined;
        if (release !== undefined) {
          assert.equal(socket.lend(bytes), undefined, 'lent twice');
          lent.push({ bytes, release });
        }
        socket.taken(next.length, next.known);
        if (next.ends) socket.leave();
        const other = socket.forNextRead() as Buffer | undefined;
        if (other !== undefined) current[next.socket] = other;
        const inUse = [...current.filter((buffer) => buffer !== shared), ...lent.map((held) => held.bytes)];
        assert.equal(new Set(inUse).size, inUse.length, 'one buffer in two places');
      }
      for (const { release } of lent) release();
    }),
  );
});

test('a large answer leaves no buffer behind', () => {
  const buffers = new ReadBuffers();
  buffers.forNextRead();
  buffers.attached = true;
  const used = new Set<Buffer>();
  for (let answer = 0; answer < 50; answer++) {
    buffers.expect(65_536, 1_048_576);
    for (let read = 0; read < 16; read++) {
      const bytes = buffers.forNextRead() as Buffer | undefined;
      if (bytes !== undefined) used.add(bytes);
      const [last] = [...used].slice(-1);
      if (last !== undefined) buffers.lend(last)?.();
    }
    // The last piece was small, and copied.
    buffers.forNextRead();
    buffers.leave();
    assert.equal(buffers.forNextRead(), shared);
  }
  assert.ok(used.size <= 4, `${used.size} buffers for one connection`);
});

test('buffers of slow readers are bounded over all connections, and counted back whichever way one ends', () => {
  const before = buffersInUse();
  const many = Array.from({ length: 2_000 }, () => {
    const buffers = new ReadBuffers();
    buffers.forNextRead();
    buffers.attached = true;
    buffers.expect(65_536, 1_048_576);
    return buffers;
  });
  assert.equal(buffersInUse(), 512);
  assert.equal(many.filter(({ bulk }) => bulk).length, 512 - before);
  // The pool lends a buffer, and its connection ends before the client has taken it.
  const [lender] = many as [ReadBuffers];
  const release = lender.lend(lender.forNextRead());
  for (const [index, buffers] of many.entries())
    if (index % 2 === 0) buffers.drop();
    else buffers.leave();
  assert.equal(buffersInUse(), before + 1);
  release?.();
  assert.equal(buffersInUse(), before);
});

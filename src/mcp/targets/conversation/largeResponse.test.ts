import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewayError } from '../../../errors.ts';
import { recordingLog } from '../../harness.testing.ts';
import type { MemberView } from '../../json/responseScan.ts';
import { LargeResponse } from './largeResponse.ts';
import { PendingCalls } from './pendingCalls.ts';

const everyMember: MemberView = { watched: new Set(), filterMember: (_name, value) => value };

/** A connection with one call, whose client takes the bytes of its response when it is told to. */
function connection(view = everyMember) {
  const calling = new PendingCalls();
  const wireId = calling.nextId();
  const waiting: { readonly bytes: Buffer; readonly release: () => void }[] = [];
  const got: string[] = [];
  calling.add(wireId, {
    answered: () => assert.fail('the response is large'),
    failed: (error) => got.push(error.message),
    beginLarge: () => ({
      view,
      idText: '"mine"',
      addedMembers: () => '',
      write: (bytes, release) => void waiting.push({ bytes, release }),
      end: () => undefined,
    }),
  });
  return {
    calling,
    begin: (head: Buffer) =>
      LargeResponse.begin(head, 0, {
        name: 'tools',
        log: recordingLog().log,
        calling,
        onMessage: () => undefined,
        progressed: () => undefined,
        settled: () => undefined,
        failed: (id: number, error: GatewayError) => calling.take(id)?.failed(error),
      })!,
    /** The client takes what waits for it. */
    read: (): void => {
      for (const { bytes, release } of waiting.splice(0)) {
        got.push(bytes.toString());
        release();
      }
    },
    text: () => got.join(''),
  };
}

/** A piece in memory of its own, as a read of a socket has it. */
const piece = (given: string | Buffer): Buffer => {
  const bytes = Buffer.from(given);
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
};

const isFree = ({ buffer }: Buffer): boolean => (buffer as ArrayBuffer).detached;

const head = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"';
const shownHead = head.replace('1,', '"mine",');

test('the memory of a piece is free once its client has taken all of it', () => {
  const { begin, read, text } = connection();
  const pieces = [piece(head), piece('some'), piece('more'), piece('"}]}}')];
  const response = begin(pieces[0]!);
  for (const next of pieces.slice(1)) response.take(next);
  assert.deepEqual(pieces.map(isFree), [false, false, false, false]);
  read();
  assert.deepEqual(pieces.map(isFree), [true, true, true, true]);
  response.end();
  assert.equal(text(), `${shownHead}somemore"}]}}`);
});

test('a member that is held is whole after the memory of its beginning is free', () => {
  const { begin, read, text } = connection({ ...everyMember, watched: new Set(['_meta']) });
  const response = begin(piece(head));
  const [first, second] = [piece('text"}],"_meta":{"a":'), piece('1}}}')];
  response.take(first);
  read();
  assert.equal(isFree(first), true);
  response.take(second);
  response.end();
  read();
  assert.equal(isFree(second), true);
  assert.equal(text(), `${shownHead}text"}],"_meta":{"a":1}}}`);
});

test('a character that is cut reaches the client whole, and the memory of both pieces is free', () => {
  for (const cut of [2, 3]) {
    const { begin, read, text } = connection();
    const response = begin(piece(head));
    const all = Buffer.from('x€y');
    const pieces = [piece(all.subarray(0, cut)), piece(all.subarray(cut))];
    for (const part of pieces) response.take(part);
    read();
    assert.equal(text(), `${shownHead}x€y`);
    assert.deepEqual(pieces.map(isFree), [true, true]);
  }
});

test('memory with other bytes than those of the piece is left alone', () => {
  const { begin, read } = connection();
  const response = begin(piece(head));
  const both = piece('some"}]}}\n{"jsonrpc":"2.0"}');
  response.take(both.subarray(0, 9));
  response.end();
  read();
  assert.equal(isFree(both), false);
});

test('a piece of a call that its client took back is free at once', () => {
  const { begin, calling, read } = connection();
  const response = begin(piece(head));
  calling.forget(1);
  const late = piece('more');
  response.take(late);
  assert.equal(isFree(late), true);
  read();
});

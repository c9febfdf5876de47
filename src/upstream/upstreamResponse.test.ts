import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../errors.ts';
import { HeadPool, type Head } from '../http/index.ts';
import { defaults } from '../model/index.ts';
import { ok } from '../proxy/wire.testing.ts';
import { ReadBuffers } from './buffers.ts';
import { Asker } from './endpoint.testing.ts';
import { ResponseReader, idleHint, type ResponseReaderHost } from './upstreamResponse.ts';

/** A connection that only notes what its reader says. */
class Host implements ResponseReaderHost {
  readonly asker = new Asker();
  readonly heads: number[] = [];
  /** Whether the connection may be kept, for each complete answer. */
  readonly kept: boolean[] = [];
  failure: string | undefined;
  hint: number | undefined;
  mayEnd = true;
  present = true;

  isServing(): boolean {
    return this.present && this.failure === undefined;
  }

  mayEndWithConnection(): boolean {
    if (!this.mayEnd) this.fail('upstream_reset', 'not watched');
    return this.mayEnd;
  }

  onHead(head: Head): void {
    this.heads.push(head.status);
    this.hint = idleHint(head);
  }

  onComplete(keep: boolean): void {
    this.kept.push(keep);
  }

  pause(): void {
    // No test makes the user wait.
  }

  fail(code: ErrorCode, detail: string): void {
    this.failure = `${code}: ${detail}`;
  }
}

interface Asked {
  readonly headRequest?: boolean;
  readonly maySwitch?: boolean;
  /** Each is one read; a number cuts a single text into reads of that many bytes. */
  readonly reads: readonly string[];
  readonly host?: Host;
}

/** Reads an answer. */
function read({ headRequest = false, maySwitch = false, reads, host = new Host() }: Asked): Host {
  const reader = new ResponseReader(host, new ReadBuffers(), new HeadPool(256), defaults.limits);
  reader.begin(headRequest, maySwitch);
  for (const text of reads) {
    if (!host.isServing()) break;
    const bytes = Buffer.from(text, 'latin1');
    reader.read(host.asker, bytes, bytes.length);
  }
  return host;
}

const byteByByte = (text: string): readonly string[] => [...text];
const continued = 'HTTP/1.1 100 Continue\r\n\r\n';

test('an answer is read the same, however its bytes are cut', () => {
  const text = `${continued}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok('hello')}`;
  for (const reads of [[text], byteByByte(text)]) {
    const { asker, heads, kept, failure } = read({ reads });
    assert.equal(failure, undefined);
    assert.deepEqual(asker.interim, [100, 103]);
    assert.deepEqual(heads, [200]);
    assert.equal(asker.body, 'hello');
    assert.deepEqual(kept, [true]);
  }
});

test('chunks are passed on with their framing, and the answer ends behind the trailers', () => {
  const body = '5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n';
  const { asker, kept } = read({
    reads: byteByByte(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`),
  });
  assert.equal(asker.body, body);
  assert.deepEqual(kept, [true]);
});

test('32 interim answers pass, and one more is a failure', () => {
  const most = read({ reads: [continued.repeat(32) + ok('x')] });
  assert.equal(most.asker.interim.length, 32);
  assert.equal(most.asker.body, 'x');
  const flood = read({ reads: byteByByte(continued.repeat(40)) });
  assert.equal(flood.failure, 'upstream_protocol: too many interim answers');
  assert.equal(flood.asker.interim.length, 32);
});

test('an upgrade is refused where the request asked for none, or where the answer names no protocol', () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n';
  const asking = new Host();
  Object.assign(asking.asker, { onSwitch: () => assert.fail('the upgrade was handed over') });
  const unasked = read({ reads: [switching], host: asking });
  assert.equal(unasked.failure, 'upstream_protocol: an upgrade that nobody asked for');
  asking.failure = undefined;
  for (const broken of ['upgrade: echo\r\n', 'connection: upgrade\r\n', '']) {
    asking.failure = undefined;
    read({ maySwitch: true, reads: [`HTTP/1.1 101 Switching\r\n${broken}\r\n`], host: asking });
    assert.equal(asking.failure, 'upstream_protocol: an upgrade to nothing');
  }
});

for (const [what, text, keep] of [
  ['HTTP/1.1 without a word', ok('x'), true],
  ['Connection: close', ok('x', 'connection: close'), false],
  ['HTTP/1.0', ok('x').replace('/1.1', '/1.0'), false],
  ['HTTP/1.0 with keep-alive', ok('x', 'connection: keep-alive').replace('/1.1', '/1.0'), true],
  ['bytes behind the answer', `${ok('x')}HTTP/1.1 200`, false],
  ['an answer without a body', 'HTTP/1.1 204 No Content\r\n\r\n', true],
  ['a body behind an answer that has none', 'HTTP/1.1 304 Not Modified\r\n\r\nbody', false],
] as const)
  test(`after ${what} the connection is ${keep ? 'kept' : 'not kept'}`, () => {
    const { kept, failure } = read({ reads: [text] });
    assert.equal(failure, undefined);
    assert.deepEqual(kept, [keep]);
  });

test('the answer to HEAD ends with its head, whatever length it tells', () => {
  const host = read({ headRequest: true, reads: ['HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n'] });
  assert.deepEqual(host.kept, [true]);
  assert.equal(host.asker.body, '');
});

test('a body without a length goes on until the connection ends, and is refused where its end cannot be told', () => {
  const text = 'HTTP/1.1 200 OK\r\n\r\nand so on';
  const open = read({ reads: [text] });
  assert.equal(open.asker.body, 'and so on');
  assert.deepEqual(open.kept, []);
  const host = new Host();
  host.mayEnd = false;
  read({ reads: [text], host });
  assert.equal(host.failure, 'upstream_reset: not watched');
  assert.deepEqual(host.heads, [], 'the client has seen nothing of the answer');
});

for (const [what, text] of [
  ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'],
  ['two different lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx'],
  ['a head over the limit', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(defaults.limits.maxHeadBytes)}\r\n\r\n`],
  ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
] as const)
  test(`an answer with ${what} is a failure of the protocol`, () => {
    const host = read({ reads: [text.slice(0, 20), text.slice(20)] });
    assert.match(host.failure ?? '', /^upstream_protocol: ./);
    assert.deepEqual(host.kept, []);
  });

test('a user that leaves during an interim answer is told nothing more', () => {
  const host = new Host();
  host.asker.onInformational = () => void (host.present = false);
  read({ reads: [continued + ok('x')], host });
  assert.deepEqual(host.heads, []);
  assert.equal(host.asker.body, '');
});

test('a backend that says when it hangs up is left a second earlier', () => {
  const hint = (field: string): number | undefined => read({ reads: [ok('x', field)] }).hint;
  assert.equal(hint('keep-alive: timeout=5, max=100'), 4_000);
  assert.equal(hint('Keep-Alive: max=100, TIMEOUT=1'), 0);
  assert.equal(hint('keep-alive: timeout=0'), 0);
  assert.equal(hint('keep-alive: max=100'), undefined);
  assert.equal(hint('keep-alive: timeout=-1'), undefined);
  assert.equal(hint('x: timeout=5'), undefined);
});

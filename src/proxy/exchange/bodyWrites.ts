import type { UpstreamConnection } from '../../upstream/index.ts';
import type { ClientSide } from './liveExchange.ts';
import { givePage, takePage } from '../connections/pages.ts';
import { TOGETHER } from './reply.ts';

/** Pieces of a body up to this size are cheaper to copy as text than to hand over as buffers. */
const SMALL = 2_048;

/**
 * Sends a piece of a request body.
 * @param head what goes before it, in latin1
 * @returns false when the caller should wait for `onWritable`
 */
export function sendPiece(
  upstream: UpstreamConnection,
  head: string | undefined,
  bytes: Buffer,
  from: number,
  to: number,
): boolean {
  if (to - from <= SMALL) {
    const text = bytes.toString('latin1', from, to);
    return upstream.write(head === undefined ? text : head + text);
  }
  upstream.cork();
  if (head !== undefined) upstream.write(head);
  const more = upstream.write(bytes.subarray(from, to));
  upstream.uncork();
  return more;
}

/**
 * Writes a piece of an answer's body, which lies where the running read of its connection has put it.
 * @returns false when the client reads slower than we write
 */
export function writePiece(
  client: ClientSide,
  upstream: UpstreamConnection,
  bytes: Buffer,
  from: number,
  to: number,
): boolean {
  const length = to - from;
  if (length === 0) return true;
  if (length <= SMALL) return client.write(bytes.toString('latin1', from, to));
  const release = length < TOGETHER ? undefined : upstream.lend(bytes);
  if (release === undefined) return writeCopy(client, '', bytes, from, to);
  return client.writeLent(bytes.subarray(from, to), release);
}

/** The same for the first piece, behind the head of the answer, which is in latin1. */
export function writeFirst(
  client: ClientSide,
  head: string,
  bytes: Buffer,
  from: number,
  to: number,
): boolean {
  if (to === from) return client.write(head);
  if (to - from <= SMALL) return client.write(head + bytes.toString('latin1', from, to));
  return writeCopy(client, head, bytes, from, to);
}

/** For bytes that are read over when this returns. */
function writeCopy(client: ClientSide, head: string, bytes: Buffer, from: number, to: number): boolean {
  const length = head.length + to - from;
  const page = takePage(length);
  if (page === undefined) {
    client.write(head);
    return client.write(Buffer.from(bytes.subarray(from, to)));
  }
  page.write(head, 0, 'latin1');
  bytes.copy(page, head.length, from, to);
  return client.writeLent(page.subarray(0, length), () => givePage(page));
}

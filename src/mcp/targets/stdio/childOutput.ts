import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';
import { takeHandle } from './pipeHandle.ts';

/** The memory of all reads: the bytes of a read are used before the next read begins. */
const memory = Buffer.allocUnsafeSlow(65_536);

/**
 * Reads the standard output of a child.
 * @param take gets the bytes of a read, which the next read overwrites
 * @returns the stream that ends, fails, pauses and closes in place of `stdout`
 */
export function readOutput(stdout: Readable, take: (memory: Buffer, length: number) => void): Readable {
  const handle = takeHandle(stdout);
  if (handle === undefined) {
    stdout.on('data', (chunk: Buffer) => take(chunk, chunk.length));
    return stdout;
  }
  const onread: OnReadOpts = {
    buffer: memory,
    callback: (length) => {
      take(memory, length);
      return true;
    },
  };
  // The types know neither such a handle, nor that the constructor takes `onread` as `connect` does.
  return new Socket({ handle, writable: false, onread } as unknown as SocketConstructorOpts);
}

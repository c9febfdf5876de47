import type { Socket } from 'node:net';

type Done = (error?: Error | null) => void;

/** The codes of a write error after which an answer may still wait to be read. */
const hangups: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET']);

/**
 * Lets the owner of a socket read on after the peer has closed the connection under a write. The platform would
 * destroy the socket at once, and with it an answer that the system has received already.
 * @param onLost hears of such a write. @returns true to read on: the socket then takes no more bytes
 */
export function surviveLostWrites(socket: Socket, onLost: (code: string) => boolean): void {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  // A stream has one write under way at a time.
  let done: Done;
  const settle: Done = (error?: NodeJS.ErrnoException | null) => {
    const code = error?.syscall === 'write' ? (error.code ?? '') : '';
    // A write that never settles keeps the stream as it is: open for reading.
    if (!hangups.has(code) || socket.destroyed || !onLost(code)) done(error);
  };
  socket._write = (chunk: unknown, encoding, callback) => {
    done = callback;
    write(chunk, encoding, settle);
  };
  if (writev === undefined) return;
  socket._writev = (chunks, callback) => {
    done = callback;
    writev(chunks, settle);
  };
}

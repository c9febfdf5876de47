import type { Stream } from 'node:stream';

/** The part of a pipe's handle that a write needs. */
interface PipeHandle {
  /** Negative where the handle is closed, and on Windows. */
  readonly fd: number;
}

interface HandleOwner {
  _handle?: PipeHandle | null;
}

/**
 * The handle below a stream of Node. Node does not document it, but the streams above the pipes of servers cost a part of
 * the CPU time of a call (docs/design/performance.md).
 * @returns undefined where the stream has none; the stream must do the work then
 */
export const handleOf = (stream: Stream): PipeHandle | undefined =>
  (stream as HandleOwner)._handle ?? undefined;

/** Takes the handle out of a stream, and ends the stream without it. */
export function takeHandle(stream: Stream & { destroy(): unknown }): PipeHandle | undefined {
  const handle = handleOf(stream);
  if (handle === undefined) return undefined;
  (stream as HandleOwner)._handle = null;
  stream.destroy();
  return handle;
}

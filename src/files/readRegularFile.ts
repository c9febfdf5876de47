import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Names the environment variable with the limit, because the limit holds before a configuration is read. */
export const maxFileBytesVariable = 'MAX_FILE_BYTES';

const standardBytes = 8 * 1_048_576;

/** Reads a limit in bytes; undefined where the text is none. */
export const parseFileLimit = (text: string): number | undefined =>
  /^[1-9]\d{0,11}$/.test(text) ? Number(text) : undefined;

/** The largest file that a configuration may be or name, in bytes. */
export const maxFileBytes = (env: Readonly<Record<string, string | undefined>> = process.env): number =>
  parseFileLimit(env[maxFileBytesVariable] ?? '') ?? standardBytes;

/**
 * Reads a file that a configuration is or names. A FIFO or a device in its place would block every request for ever,
 * and a huge file would take all memory.
 *
 * @throws Error where it cannot be opened, is no regular file, or is over the limit
 */
export const readRegularFile = (path: string, limit = maxFileBytes()): Buffer => {
  // Without O_NONBLOCK the opening of a FIFO waits for a writer.
  const descriptor = openSync(
    path,
    constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0),
  );
  try {
    const stats = fstatSync(descriptor);
    if (stats.isDirectory()) throw new Error('this is a directory, not a file');
    if (!stats.isFile()) throw new Error('is not a regular file');
    if (stats.size > limit) throw tooLarge(limit);
    return readUpTo(descriptor, stats.size, limit);
  } finally {
    closeSync(descriptor);
  }
};

/** The same as text in UTF-8. */
export const readRegularText = (path: string, limit?: number): string =>
  readRegularFile(path, limit).toString('utf8');

/** A file may grow while it is read, and files of /proc say that they are empty. */
const readUpTo = (descriptor: number, expected: number, limit: number): Buffer => {
  const pieces: Buffer[] = [];
  let total = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(Math.min(limit + 1 - total, Math.max(4_096, expected - total + 1)));
    const length = readSync(descriptor, piece, 0, piece.length, null);
    if (length === 0) return Buffer.concat(pieces, total);
    pieces.push(piece.subarray(0, length));
    total += length;
    if (total > limit) throw tooLarge(limit);
  }
};

const tooLarge = (limit: number): Error =>
  new Error(`is over ${limit} bytes (${maxFileBytesVariable} is the limit of a file)`);

/**
 * Read buffers for upstream sockets. All sockets read into one shared buffer, since what they read is consumed before
 * the next read; a socket in the middle of a large body reads into buffers of its own, so that the bytes can be
 * written to the client without a copy, and gives them back when the write is through.
 */
const SIZE = 65_536;
const FREE_MOST = 256;

const free: Buffer[] = [];

/** The buffer everybody reads into. */
export const shared: Buffer = Buffer.allocUnsafeSlow(SIZE);

export const takeBuffer = (): Buffer => free.pop() ?? Buffer.allocUnsafeSlow(SIZE);

export function giveBuffer(buffer: Buffer): void {
  if (buffer !== shared && free.length < FREE_MOST) free.push(buffer);
}

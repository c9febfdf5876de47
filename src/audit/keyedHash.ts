import { hash, type KeyObject } from 'node:crypto';

/** Bytes of a block of SHA-256, and of its result. */
const blockBytes = 64;
const hashBytes = 32;
const innerPad = 0x36;
const outerPad = 0x5c;

/**
 * HMAC-SHA-256 (RFC 2104) of messages in a memory of its own, as two hashes in one step each. `createHmac` makes an
 * object outside of V8's heap for each message, and that costs as much as the hashes.
 */
export class KeyedHash {
  /** The place of a message in the memory: the block of the key precedes it. */
  static readonly start = blockBytes;
  private inner: ArrayBuffer;
  private readonly outer = Buffer.allocUnsafeSlow(blockBytes + hashBytes);

  /** @param key of at most 64 bytes */
  constructor(key: KeyObject) {
    const bytes = key.export();
    if (bytes.length > blockBytes) throw new Error('the key is longer than a block');
    this.inner = new ArrayBuffer(blockBytes);
    const inner = new Uint8Array(this.inner).fill(innerPad);
    this.outer.fill(outerPad);
    for (const [at, byte] of bytes.entries()) {
      inner[at]! ^= byte;
      this.outer[at]! ^= byte;
    }
  }

  /** The memory with room for a message, whose beginning stays. It is another one where it had to grow. */
  memory(bytes: number): Buffer {
    const size = blockBytes + bytes;
    if (this.inner.byteLength < size) this.inner = this.inner.transfer(2 * size);
    return Buffer.from(this.inner);
  }

  /** The code of the message in the memory up to `end`, in base64url. */
  codeOf(end: number): string {
    const inner = hash('sha256', new Uint8Array(this.inner, 0, end), 'binary');
    this.outer.write(inner, blockBytes, 'latin1');
    return hash('sha256', this.outer, 'base64url');
  }
}

import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/** The state of a chain: the last line that it has sealed. */
export interface ChainPlace {
  readonly writer: string;
  /** Names one run of a writer: 16 hex digits. */
  readonly epoch: string;
  /** The number of the last line, from 1 on. */
  readonly seq: number;
  /** Code of the last line, 43 characters of base64url. */
  readonly mac: string;
}

const hmac = (key: KeyObject | Buffer, data: string): Buffer =>
  createHmac('sha256', key).update(data).digest();

/** The keys that a writer and a verifier derive from the secret of the stream. */
export class ChainKeys {
  private readonly root: Buffer;

  /** @param secret the content of the key file */
  constructor(secret: Buffer) {
    this.root = secret;
  }

  /** An epoch has a key of its own, so no line of another epoch fits into it. */
  ofEpoch(writer: string, epoch: string): KeyObject {
    return createSecretKey(hmac(this.root, `portcullis audit epoch v1\n${writer}\n${epoch}`));
  }

  /** The signature of a checkpoint. */
  signatureOf({ writer, epoch, seq, mac }: ChainPlace): string {
    const key = hmac(this.root, 'portcullis audit checkpoint v1');
    return hmac(key, `${writer}\n${epoch}\n${seq}\n${mac}`).toString('base64url');
  }
}

/** Characters of a code: 32 bytes in base64url. */
const macLength = 43;
const separator = 0x0a;

/**
 * The code of a line: it covers the line and, by the code before it, all lines since the beginning of the epoch.
 * @param before code of the previous line; empty for the first one
 * @param content the line up to its code
 */
export const macOf = (key: KeyObject, before: string, content: string): string =>
  createHmac('sha256', key).update(`${before}\n${content}`).digest('base64url');

/** The chain of one run of a writer. */
export class Chain {
  readonly epoch = randomBytes(8).toString('hex');
  /** Bytes that a seal adds to a line, at most. */
  readonly maxSeal: number;
  private readonly writer: string;
  private readonly key: KeyObject;
  private readonly tail: string;
  /** The code of the last line, and a line break. */
  private readonly before = Buffer.alloc(macLength + 1, separator);
  private seq = 0;
  private mac = '';

  constructor(writer: string, keys: ChainKeys) {
    this.writer = writer;
    this.key = keys.ofEpoch(writer, this.epoch);
    this.tail = `,"chain.writer":${JSON.stringify(writer)},"chain.epoch":"${this.epoch}","chain.seq":`;
    this.maxSeal = this.tail.length + String(Number.MAX_SAFE_INTEGER).length + codeOf('').length + macLength;
  }

  /**
   * Completes a line in a buffer with its place and its code. After it there is room for `maxSeal` bytes.
   * @param start of the line
   * @param end of the line, which has no closing brace yet
   * @returns the end of the whole line
   */
  seal(buffer: Buffer, start: number, end: number): number {
    this.seq++;
    const content = end + buffer.write(this.tail + String(this.seq), end, 'latin1');
    const before = this.mac === '' ? this.before.subarray(macLength) : this.before;
    // The same bytes as in `macOf`.
    const code = createHmac('sha256', this.key).update(before).update(buffer.subarray(start, content));
    this.mac = code.digest('base64url');
    this.before.write(this.mac, 'latin1');
    return content + buffer.write(codeOf(this.mac), content, 'latin1');
  }

  get place(): ChainPlace {
    const { writer, epoch, seq, mac } = this;
    return { writer, epoch, seq, mac };
  }
}

/** The end of a line. */
const codeOf = (mac: string): string => `,"chain.mac":"${mac}"}\n`;

const sealed =
  /^(\{.*,"chain\.writer":"([\w.-]{1,64})","chain\.epoch":"([0-9a-f]{16})","chain\.seq":(\d{1,15})),"chain\.mac":"([\w-]{43})"\}$/;

/** A line of a chain, read from a file. */
export interface SealedLine extends ChainPlace {
  /** The part that the code covers. */
  readonly content: string;
}

/** Reads a line without its line break; undefined where it has no place in a chain. */
export function readSealed(line: string): SealedLine | undefined {
  const found = sealed.exec(line);
  if (found === null) return undefined;
  const [, content = '', writer = '', epoch = '', seq = '', mac = ''] = found;
  return { content, writer, epoch, seq: Number(seq), mac };
}

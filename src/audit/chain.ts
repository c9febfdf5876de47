import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { KeyedHash } from './keyedHash.ts';

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
/** Digits of a number of a line. */
const maxSeq = String(Number.MAX_SAFE_INTEGER).length;
/** Usual lines are shorter. */
const firstMemory = 4_096;

/**
 * The code of a line: it covers the line and, by the code before it, all lines since the beginning of the epoch.
 * @param before code of the previous line; empty for the first one
 * @param content the line up to its code
 */
export const macOf = (key: KeyObject, before: string, content: string): string =>
  createHmac('sha256', key).update(`${before}\n${content}`).digest('base64url');

/** Bytes of UTF-8 for one unit of a JavaScript string, at most. */
const maxBytesOfUnit = 3;

/** The chain of one run of a writer. */
export class Chain {
  readonly epoch: string;
  private readonly writer: string;
  private readonly tail: string;
  private readonly keyed: KeyedHash;
  /** The message of the next code: the code of the last line, a line break, and from `contentAt` on the line. */
  private message: Buffer;
  private contentAt = KeyedHash.start + 1;
  private seq = 0;
  private mac = '';

  /** @param epoch tests choose it */
  constructor(writer: string, keys: ChainKeys, epoch = randomBytes(8).toString('hex')) {
    this.writer = writer;
    this.epoch = epoch;
    this.keyed = new KeyedHash(keys.ofEpoch(writer, this.epoch));
    this.tail = `,"chain.writer":${JSON.stringify(writer)},"chain.epoch":"${this.epoch}","chain.seq":`;
    this.message = this.keyed.memory(firstMemory);
    this.message[KeyedHash.start] = separator;
  }

  /** Bytes that a line may need with its seal. */
  mostBytes(line: string): number {
    return (line.length + this.tail.length) * maxBytesOfUnit + maxSeq + codeText('').length + macLength;
  }

  /**
   * Writes a line with its place and its code into a buffer that has room for `mostBytes`.
   * @param line without its closing brace
   * @returns the end of the whole line
   */
  seal(line: string, buffer: Buffer, start: number): number {
    this.seq++;
    const content = `${line}${this.tail}${this.seq}`;
    const most = macLength + 1 + content.length * maxBytesOfUnit;
    if (this.message.length < KeyedHash.start + most) this.message = this.keyed.memory(most);
    const { message, contentAt } = this;
    const end = contentAt + message.write(content, contentAt);
    // The same bytes as in `macOf`.
    const mac = this.keyed.codeOf(end);
    const after = start + message.copy(buffer, start, contentAt, end);
    this.follow(mac);
    return after + buffer.write(codeText(mac), after, 'latin1');
  }

  get place(): ChainPlace {
    const { writer, epoch, seq, mac } = this;
    return { writer, epoch, seq, mac };
  }

  private follow(mac: string): void {
    this.mac = mac;
    this.message.write(mac, KeyedHash.start, 'latin1');
    if (this.seq > 1) return;
    this.contentAt = KeyedHash.start + macLength + 1;
    this.message[this.contentAt - 1] = separator;
  }
}

/** The end of a line. */
const codeText = (mac: string): string => `,"chain.mac":"${mac}"}\n`;

const sealed =
  /^(\{.*,"chain\.writer":"([\w.-]{1,64})","chain\.epoch":"([0-9a-f]{16})","chain\.seq":(\d{1,15})),"chain\.mac":"([\w-]{43})"\}$/s;

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

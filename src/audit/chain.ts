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
  private readonly writer: string;
  private readonly key: KeyObject;
  private readonly tail: string;
  private seq = 0;
  private mac = '';

  constructor(writer: string, keys: ChainKeys) {
    this.writer = writer;
    this.key = keys.ofEpoch(writer, this.epoch);
    this.tail = `,"chain.writer":${JSON.stringify(writer)},"chain.epoch":"${this.epoch}","chain.seq":`;
  }

  /** @param open a line without its closing brace @returns the whole line with its place and its code */
  seal(open: string): string {
    this.seq++;
    const content = open + this.tail + String(this.seq);
    this.mac = macOf(this.key, this.mac, content);
    return `${content},"chain.mac":"${this.mac}"}\n`;
  }

  get place(): ChainPlace {
    const { writer, epoch, seq, mac } = this;
    return { writer, epoch, seq, mac };
  }
}

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

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** What a session id says to those who hold the key. */
export interface SessionTicket {
  /** Hash of the key of the backend the session belongs to. */
  readonly backend: string;
  /** The process that holds the session: its children cannot move. */
  readonly owner: string;
  /** Random, 128 bits. */
  readonly local: string;
}

const format = 1;
const ivLength = 12;
const tagLength = 16;
const localLength = 16;
const backendLength = 8;
const ownerLength = 8;
const payloadLength = 1 + localLength + backendLength + ownerLength;
const associated = Buffer.from('portcullis mcp session 1');

/**
 * Seals session ids with AES-256-GCM: a client can neither read where a session lives nor make up an id. Random
 * 96-bit nonces are safe for some 2^32 ids under one key (NIST SP 800-38D §8.3).
 */
export class SessionSeal {
  /** Names this process in the ids it makes. */
  readonly owner: string;
  private readonly key: Buffer;

  /**
   * @param key 64 hex digits; without it a random key is made and ids die with the process
   * @param owner 16 hex digits, where others must know this process by them; random ones unless given
   */
  constructor(key?: string, owner: string = randomBytes(ownerLength).toString('hex')) {
    if (!/^[0-9a-f]{16}$/.test(owner)) throw new TypeError('session owner must be 16 hexadecimal digits');
    this.owner = owner;
    if (key !== undefined && !/^[0-9a-fA-F]{64}$/.test(key))
      throw new TypeError('session key must be 64 hexadecimal digits');
    this.key = key === undefined ? randomBytes(32) : Buffer.from(key, 'hex');
  }

  /** A fresh id for a session of this process. */
  seal(backendKey: string): string {
    const iv = randomBytes(ivLength);
    const cipher = createCipheriv('aes-256-gcm', this.key, iv, { authTagLength: tagLength });
    cipher.setAAD(associated);
    const payload = Buffer.concat([
      Buffer.of(format),
      randomBytes(localLength),
      backendHash(backendKey),
      Buffer.from(this.owner, 'hex'),
    ]);
    return Buffer.concat([iv, cipher.update(payload), cipher.final(), cipher.getAuthTag()]).toString(
      'base64url',
    );
  }

  /** Reads an id; undefined where it was not made with this key, was altered, or is spelled in another way. */
  open(id: string): SessionTicket | undefined {
    const bytes = Buffer.from(id, 'base64url');
    if (bytes.length !== ivLength + payloadLength + tagLength || bytes.toString('base64url') !== id)
      return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(0, ivLength), {
      authTagLength: tagLength,
    });
    decipher.setAAD(associated);
    decipher.setAuthTag(bytes.subarray(-tagLength));
    let payload: Buffer;
    try {
      payload = Buffer.concat([decipher.update(bytes.subarray(ivLength, -tagLength)), decipher.final()]);
    } catch {
      return undefined;
    }
    if (payload[0] !== format) return undefined;
    const hex = (from: number, length: number): string => payload.toString('hex', from, from + length);
    return {
      local: hex(1, localLength),
      backend: hex(1 + localLength, backendLength),
      owner: hex(1 + localLength + backendLength, ownerLength),
    };
  }
}

function backendHash(key: string): Buffer {
  return createHash('sha256').update(key).digest().subarray(0, backendLength);
}

/** A name for a session that may stand in logs: it cannot be turned back into the id. */
export function sessionLabel(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

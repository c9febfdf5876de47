import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export const ivLength = 12;
const tagLength = 16;

/**
 * Encrypts with AES-256-GCM.
 * @param use authenticated beside the payload: the text opens for the same use only
 * @returns base64url
 */
export function encrypt(key: Buffer, iv: Buffer, payload: Buffer, use: Buffer): string {
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagLength });
  cipher.setAAD(use);
  return Buffer.concat([iv, cipher.update(payload), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

/** Reads what `encrypt` wrote; undefined for anything else. */
export function decrypt(key: Buffer, text: string, use: Buffer): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length < ivLength + tagLength || bytes.toString('base64url') !== text) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivLength), {
    authTagLength: tagLength,
  });
  decipher.setAAD(use);
  decipher.setAuthTag(bytes.subarray(-tagLength));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivLength, -tagLength)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Seals texts under one key. Each text opens at its own place only. */
export class TextSeal {
  private readonly key: Buffer;

  /** @param key 32 bytes, under which at most some 2^32 texts are sealed (NIST SP 800-38D §8.3) */
  constructor(key: Buffer) {
    this.key = key;
  }

  seal(place: string, text: string): string {
    return encrypt(this.key, randomBytes(ivLength), Buffer.from(text), Buffer.from(place));
  }

  /** Reads what `seal` wrote for the place; undefined for anything else. */
  open(place: string, sealed: string): string | undefined {
    return decrypt(this.key, sealed, Buffer.from(place))?.toString();
  }
}

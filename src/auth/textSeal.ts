import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** Encrypts small JSON values that clients carry for the gateway (AES-256-GCM), so that any replica can read them. */
export class TextSeal {
  private readonly key: Buffer;

  /** @param secret that replicas share @param place the texts of other places do not open */
  constructor(secret: string, place: string) {
    this.key = Buffer.from(hkdfSync('sha256', secret, '', `portcullis text ${place}`, 32));
  }

  /** @param use a text opens for the same use only @returns base64url */
  seal(use: string, value: unknown): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, iv, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(use));
    const sealed = [iv, cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64url');
  }

  /** The value that `seal` got for the use; undefined for any other text. */
  open(use: string, text: string): unknown {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < ivBytes + tagBytes || bytes.toString('base64url') !== text) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(use));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const opened = [decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()];
      const value: unknown = JSON.parse(Buffer.concat(opened).toString('utf8'));
      return value;
    } catch {
      return undefined;
    }
  }
}

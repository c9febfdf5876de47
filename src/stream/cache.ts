import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, statfsSync } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile } from '../files/index.ts';
import type { CachedModel } from './modelAssembler.ts';
import { isPartName } from './parts.ts';

export interface CacheOptions {
  readonly folder: string;
  /** At least 32 bytes that are secret; without, the folder must be of memory. */
  readonly keyFile?: string | undefined;
  /** `namespace/name`: what is kept for another one is not taken. */
  readonly gateway: string;
}

const fileName = 'model.portcullis';
const maxBytes = 512 << 20;
const nonceBytes = 12;
const tagBytes = 16;
const minKeyBytes = 32;
/** `f_type` of file systems that are in memory and nowhere else: tmpfs, ramfs. */
const memoryFileSystems = new Set([0x01021994, 0x858458f6]);

/**
 * The last model that was taken, for a proxy that starts while no controller can be reached. It holds the private keys
 * of listeners: so it is sealed, or lies in memory; never in the clear on a disk.
 */
export class Cache {
  private readonly file: string;
  private readonly gateway: string;
  private readonly key: Buffer | undefined;

  /** @throws Error where what is kept would not be safe there */
  constructor({ folder, keyFile, gateway }: CacheOptions) {
    this.file = join(folder, fileName);
    this.gateway = gateway;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (keyFile === undefined) {
      if (!memoryFileSystems.has(statfsSync(folder).type))
        throw new Error(
          `${folder} is on a disk: give a key for the cache, or use a folder in memory (such as an emptyDir with medium Memory)`,
        );
      return;
    }
    const secret = readRegularFile(keyFile);
    if (secret.length < minKeyBytes)
      throw new Error(`the key in ${keyFile} is shorter than ${String(minKeyBytes)} bytes`);
    // A cache sealed for one Gateway cannot be opened for another, though they may have the same key.
    this.key = Buffer.from(hkdfSync('sha256', secret, '', `portcullis model cache\n${gateway}`, 32));
  }

  /**
   * @returns undefined where nothing is kept
   * @throws Error where it cannot be used: damaged, of another Gateway, or sealed with another key
   */
  async read(): Promise<CachedModel | undefined> {
    let bytes: Buffer;
    try {
      const { size, uid, mode } = await stat(this.file);
      if (size > maxBytes) throw new Error('it is too large');
      if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
        throw new Error('other users can read or write it');
      bytes = await readFile(this.file);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
    const head = this.head();
    if (!bytes.subarray(0, head.length).equals(head))
      throw new Error('it belongs to another Gateway or version, or has another key');
    const value = JSON.parse(this.opened(bytes.subarray(head.length), head).toString('utf8')) as unknown;
    if (!isKept(value)) throw new Error('it contains no model');
    return value;
  }

  /** The file is the old one or the new one, whole, whenever the process is killed. @throws Error of the system */
  async write(kept: CachedModel): Promise<void> {
    const head = this.head();
    const content = Buffer.concat([head, this.sealed(Buffer.from(JSON.stringify(kept)), head)]);
    const draft = `${this.file}.${randomUUID()}`;
    try {
      const handle = await open(draft, 'wx', 0o600);
      try {
        await handle.writeFile(content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, this.file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  /** Authenticated together with what follows. */
  private head(): Buffer {
    return Buffer.from(`portcullis 1 ${this.key === undefined ? 'plain' : 'sealed'} ${this.gateway}\n`);
  }

  private sealed(text: Buffer, head: Buffer): Buffer {
    if (this.key === undefined) return text;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce).setAAD(head);
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  }

  private opened(bytes: Buffer, head: Buffer): Buffer {
    if (this.key === undefined) return bytes;
    if (bytes.length < nonceBytes + tagBytes) throw new Error('it was cut off');
    const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(head).setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  }
}

/** Its names are checked where it is put together. */
function isKept(value: unknown): value is CachedModel {
  if (typeof value !== 'object' || value === null) return false;
  const { version, root, parts, endpoints } = value as Readonly<Record<string, unknown>>;
  return (
    isPartName(version) &&
    isPartName(root) &&
    Array.isArray(parts) &&
    Array.isArray(endpoints) &&
    endpoints.every(
      (one) => Array.isArray(one) && one.length === 2 && typeof one[0] === 'string' && Array.isArray(one[1]),
    )
  );
}

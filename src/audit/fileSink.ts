import {
  close,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  write,
  writeSync,
  readdirSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../errorText.ts';
import type { AuditRotation } from '../model/index.ts';
import { SinkError, type AuditSinkPort } from './auditSink.ts';

const writeLater = promisify(write);
const syncLater = promisify(fdatasync);
const closeLater = promisify(close);

const newline = 0x0a;
const lineEnd = Buffer.from('\n');
/** The end of the file that a new run reads to find its last line. */
const tailBytes = 1_048_576;
const mode = 0o600;

export interface FileSinkOptions {
  readonly path: string;
  readonly rotation?: AuditRotation | undefined;
  /** Lines must survive a crash of the machine. */
  readonly durable: boolean;
  /** Time between two looks at the path, in milliseconds; 1000 unless given. */
  readonly lookEveryMs?: number;
}

interface Opened {
  readonly descriptor: number;
  readonly device: number;
  readonly inode: number;
}

/**
 * Appends lines to a file that several processes may share: the system keeps each append together. When another file, or
 * none, stands at the path, the sink opens the path again, so that any program may rotate the file by renaming it.
 */
export class FileSink implements AuditSinkPort {
  readonly gatherMs = 100;
  readonly maxBatch = 262_144;
  private readonly options: FileSinkOptions;
  private opened: Opened;
  /** The file ends within a line: a crash, or a full disk, kept the rest of it out. */
  private torn = false;
  private lookedAt = performance.now();
  private writing = false;
  /** Also without lines: nobody else can free the room of a file that was removed and is still open here. */
  private readonly look: NodeJS.Timeout;

  /** @throws Error where the file cannot be opened, or cannot be durable */
  constructor(options: FileSinkOptions) {
    this.options = options;
    this.opened = this.open();
    this.look = setInterval(() => this.lookIdle(), Math.max(options.lookEveryMs ?? 1_000, 50)).unref();
  }

  async write(bytes: Buffer, durable: boolean): Promise<void> {
    this.writing = true;
    try {
      await this.append(bytes, durable);
    } finally {
      this.writing = false;
    }
  }

  private async append(bytes: Buffer, durable: boolean): Promise<void> {
    this.follow();
    const { descriptor } = this.opened;
    let at = 0;
    try {
      if (this.torn) {
        await writeLater(descriptor, lineEnd, 0, 1, null);
        this.torn = false;
      }
      while (at < bytes.length) {
        const { bytesWritten } = await writeLater(descriptor, bytes, at, bytes.length - at, null);
        at += bytesWritten;
      }
    } catch (error) {
      const stored = at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1;
      if (at > stored) this.torn = true;
      throw new SinkError(`${this.options.path}: ${messageOf(error)}`, stored, error);
    }
    if (!durable) return;
    try {
      await syncLater(descriptor);
    } catch (error) {
      throw new SinkError(`${this.options.path}: ${messageOf(error)}`, bytes.length, error);
    }
  }

  writeNow(bytes: Buffer): void {
    writeSync(this.opened.descriptor, this.torn ? Buffer.concat([lineEnd, bytes]) : bytes);
  }

  tail(): string {
    const { path } = this.options;
    try {
      if (!statSync(path).isFile()) return '';
      const descriptor = openSync(path, constants.O_RDONLY);
      try {
        const { size } = fstatSync(descriptor);
        const bytes = Buffer.alloc(Math.min(size, tailBytes));
        readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
        return bytes.toString();
      } finally {
        closeSync(descriptor);
      }
    } catch {
      return '';
    }
  }

  async close(): Promise<void> {
    clearInterval(this.look);
    await closeLater(this.opened.descriptor).catch(() => undefined);
  }

  private open(): Opened {
    const { path, durable } = this.options;
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOCTTY;
    // A FIFO without a reader must not stop the gateway.
    const descriptor = openSync(path, flags | constants.O_NONBLOCK, mode);
    try {
      const stats = fstatSync(descriptor);
      if (stats.isDirectory()) throw new Error(`${path}: this is a directory, not a file`);
      if (durable) {
        if (!stats.isFile()) throw new Error(`${path}: config.audit.required needs a regular file`);
        syncFolder(dirname(path));
      }
      this.torn = stats.isFile() && stats.size > 0 && lastByte(path, stats.size) !== newline;
      return { descriptor, device: stats.dev, inode: stats.ino };
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  private lookIdle(): void {
    if (this.writing) return;
    try {
      this.follow();
    } catch {
      // The next write tells.
    }
  }

  /** Opens the path again after a rename, and rotates a file that is large enough. */
  private follow(): void {
    const now = performance.now();
    const { path, rotation, lookEveryMs = 1_000 } = this.options;
    if (now - this.lookedAt < lookEveryMs) return;
    this.lookedAt = now;
    try {
      const there = statSync(path, { throwIfNoEntry: false });
      const isSame =
        there !== undefined && there.ino === this.opened.inode && there.dev === this.opened.device;
      if (isSame) {
        if (rotation === undefined || !there.isFile() || there.size < rotation.maxBytes) return;
        renameSync(path, `${path}.${new Date().toISOString().replaceAll(/[-:]/g, '')}-${process.pid}`);
        prune(path, rotation.keep);
      }
      const before = this.opened;
      const wasTorn = this.torn;
      try {
        this.opened = this.open();
      } catch (error) {
        this.torn = wasTorn;
        throw error;
      }
      closeSync(before.descriptor);
    } catch (error) {
      throw new SinkError(`${path}: ${messageOf(error)}`, 0, error);
    }
  }
}

const rotated = /^\.\d{8}T\d{6}\.\d{3}Z-\d+$/;

/** Removes the oldest rotated files beyond the number that stays. */
function prune(path: string, keep: number): void {
  const name = basename(path);
  const folder = dirname(path);
  const old = readdirSync(folder)
    .filter((one) => one.startsWith(name) && rotated.test(one.slice(name.length)))
    .sort();
  for (const one of old.slice(0, Math.max(0, old.length - keep))) {
    try {
      unlinkSync(join(folder, one));
    } catch {
      // Another writer has removed it.
    }
  }
}

function lastByte(path: string, size: number): number | undefined {
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    const byte = Buffer.alloc(1);
    readSync(descriptor, byte, 0, 1, size - 1);
    return byte[0];
  } finally {
    closeSync(descriptor);
  }
}

/** A new file survives a crash only with its entry in the folder. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf } from '../errorText.ts';

const prefix = 'portcullis-';
const suffix = '.sock';
/** The counter of tokens lives and dies with the main process. */
const counterName = 'tokens';
const counterSocket = counterName + suffix;
/** The longest address of a socket that every system takes, in bytes. */
const longestPath = 103;
const longestName = 24;

/** Folders that nobody has changed for so long may be what is left of a gateway that could not clean up. */
const staleMs = 600_000;
/** So many are looked at, so that a start takes no longer where somebody else has filled the place. */
const lookedAt = 64;

/** Containers whose files are read-only mostly have the second one. */
const places = (): readonly string[] => [tmpdir(), '/dev/shm'];

/** A folder that only this user can enter, for the sockets between the processes of one gateway. */
export class PrivateFolder {
  readonly path: string;

  /**
   * @param parents the first one that will do is taken
   * @throws Error that says what to do, where there is none
   */
  constructor(parents: readonly string[] = places()) {
    this.path = madeIn(parents);
  }

  /** The path for a socket of this name. */
  socket(name: string): string {
    return join(this.path, name + suffix);
  }

  get counter(): string {
    return this.socket(counterName);
  }

  removeSocket(name: string): void {
    rmSync(this.socket(name), { force: true });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function madeIn(parents: readonly string[]): string {
  const problems: string[] = [];
  for (const parent of parents) {
    const start = join(parent, prefix);
    // mkdtemp adds six characters.
    if (Buffer.byteLength(start) + 6 + longestName > longestPath) {
      problems.push(`the name of ${parent} is too long for a socket path`);
      continue;
    }
    try {
      // Made with 0700 (POSIX mkdtemp).
      return mkdtempSync(start);
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  const why = problems.join('; ');
  throw new Error(
    `no folder for the sockets of the workers; set TMPDIR to a writable folder with a short path: ${why}`,
  );
}

/** Leaves a folder whose maker is gone: the last process with a socket there removes it. */
export function leaveFolder(socket: string): void {
  const folder = dirname(socket);
  try {
    rmSync(socket, { force: true });
    if (readdirSync(folder).every((name) => name === counterSocket)) rmSync(folder, { recursive: true });
  } catch {
    // Another one was faster.
  }
}

/** Removes folders of gateways that were killed: those in which nobody listens any more. Never rejects. */
export async function removeStaleFolders(parents = places(), now = Date.now()): Promise<void> {
  for (const parent of parents) await removeStale(parent, now);
}

async function removeStale(parent: string, now: number): Promise<void> {
  const all = await readdir(parent).catch(() => []);
  for (const name of all.filter((one) => one.startsWith(prefix)).slice(0, lookedAt)) {
    const path = join(parent, name);
    try {
      if (await isStale(path, now)) await rm(path, { recursive: true, force: true });
    } catch {
      // The folder was removed meanwhile, or belongs to another user.
    }
  }
}

async function isStale(path: string, now: number): Promise<boolean> {
  // The target of a link is no folder of ours.
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || now - found.mtimeMs < staleMs) return false;
  const entries = await readdir(path);
  if (!entries.every((entry) => entry.endsWith(suffix))) return false;
  for (const entry of entries) if (await isAlive(join(path, entry))) return false;
  return true;
}

const isAlive = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });

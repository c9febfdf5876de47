import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../errorText.ts';

/** Environment variables, as far as this file reads them. */
type Environment = Readonly<Record<string, string | undefined>>;

/** A TCP address of an admin port. */
export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * The secret that changes over a TCP admin port have to bring. Every local account can connect to loopback, so the
 * gateway writes a random secret into a file that only its own user can read.
 */
export interface OperatorSecret {
  readonly file: string;
  /** Reports whether the Authorization header of a request carries the secret. */
  admits(authorization: string | undefined): boolean;
  /** Removes the file, unless another gateway has replaced it. Never throws. */
  remove(): void;
}

const secretBytes = 32;
/** The length of the secret in base64url. */
const secretLength = 43;

/** Folders in which the gateway and its commands look, in this order. A read-only container often has only the last. */
const parents = (uid: number, env: Environment): string[] => {
  const runtime = env['XDG_RUNTIME_DIR'] ?? '';
  return [
    ...new Set([...(runtime === '' ? [] : [runtime]), `/run/user/${uid}`, tmpdir(), '/tmp', '/dev/shm']),
  ];
};

/** Undefined on a platform without user ids, where a file mode protects nothing. */
const userId = (): number | undefined => process.getuid?.();

const folderIn = (parent: string, uid: number): string => join(parent, `portcullis.${uid}`);

/** Windows and some shells do not like colons in file names, and neither does PATH. */
const nameOf = ({ host, port }: TcpAddress): string => `admin-${host.replaceAll(':', '_')}-${port}`;

/**
 * Writes the secret of an admin port, or takes over the one that the program before this one wrote.
 *
 * @param takeOver an upgrade is under way: both programs answer on the port, so both must know the same secret
 * @throws Error where no folder is private to this user
 */
export const keepOperatorSecret = (
  address: TcpAddress,
  takeOver: boolean,
  env: Environment = process.env,
): OperatorSecret => {
  const uid = userId();
  if (uid === undefined) throw new Error('this platform does not support files that only one user can read');
  if (takeOver) {
    const found = findOperatorSecret(address, env);
    if (found !== undefined) return secretOf(found.file, found.secret);
  }
  const problems: string[] = [];
  const secret = randomBytes(secretBytes).toString('base64url');
  for (const parent of parents(uid, env)) {
    const folder = folderIn(parent, uid);
    try {
      makePrivate(folder, uid);
      const file = join(folder, nameOf(address));
      writeAtomically(file, secret);
      return secretOf(file, secret);
    } catch (error) {
      problems.push(`${folder}: ${messageOf(error)}`);
    }
  }
  throw new Error(problems.join('; '));
};

/**
 * Finds the secret of the gateway that listens at an address, for the commands of the same user. A wildcard address
 * covers every host of its port.
 */
export const findOperatorSecret = (
  { host, port }: TcpAddress,
  env: Environment = process.env,
): { readonly file: string; readonly secret: string } | undefined => {
  const uid = userId();
  if (uid === undefined) return undefined;
  const hosts = new Set(host === 'localhost' ? ['127.0.0.1', '::1'] : [host]);
  for (const name of [...hosts, '0.0.0.0', '::'].map((each) => nameOf({ host: each, port })))
    for (const parent of parents(uid, env)) {
      const file = join(folderIn(parent, uid), name);
      try {
        return { file, secret: readSecret(file) };
      } catch {
        // The next place may have it.
      }
    }
  return undefined;
};

/**
 * Reads a secret from a file.
 * @throws Error where other users could have read or written it
 */
export const readSecret = (file: string): string => {
  // A planted FIFO must not block the command, and a planted link must not choose the file that is sent.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new Error(`${file} is not a regular file`);
    if (stats.uid !== userId() || (stats.mode & 0o077) !== 0)
      throw new Error(`${file} must belong to this user, and other users must not read it (mode 0600)`);
    const bytes = Buffer.alloc(secretLength + 1);
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    const secret = bytes.toString('latin1', 0, length).trimEnd();
    if (!/^[\w-]{43}$/.test(secret)) throw new Error(`${file} holds no admin secret`);
    return secret;
  } finally {
    closeSync(descriptor);
  }
};

const makePrivate = (folder: string, uid: number): void => {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Another user may have made it first in a shared folder such as /tmp.
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || stats.uid !== uid || (stats.mode & 0o077) !== 0)
    throw new Error('is not a folder that only this user can enter');
};

/** Writes a file that only this user can read. A reader sees the whole old text or the whole new one. */
export const writeAtomically = (file: string, secret: string): void => {
  const next = `${file}.${randomBytes(8).toString('hex')}`;
  writeFileSync(next, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  try {
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const secretOf = (file: string, secret: string): OperatorSecret => {
  const wanted = digest(`Bearer ${secret}`);
  return {
    file,
    admits: (authorization) => authorization !== undefined && timingSafeEqual(digest(authorization), wanted),
    remove: () => {
      try {
        if (readFileSync(file, 'latin1') === `${secret}\n`) rmSync(file);
      } catch {
        // The file is gone already.
      }
    },
  };
};

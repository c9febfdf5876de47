import { readFile, readdir } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** Content types of the built files, by the ends of their names. A build with another type fails its test. */
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** A built file in memory. */
export interface BuiltFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
}

const compress = promisify(gzip);

/**
 * Reads the built console.
 * @param folder the folder that the build wrote
 * @returns each file by its path, such as `assets/index-1a2b.js`; empty where the console was never built
 * @throws Error for a file that cannot be read, or whose type is unknown
 */
export async function readBuiltFiles(folder: URL): Promise<ReadonlyMap<string, BuiltFile>> {
  const root = fileURLToPath(folder);
  const files = new Map<string, BuiltFile>();
  for (const entry of await entriesOf(root)) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const type = types[extname(path)];
    if (type === undefined) throw new Error(`${path}: a file of this type cannot be served`);
    const bytes = await readFile(path);
    files.set(relative(root, path).split(sep).join('/'), { type, bytes, gzipped: await compress(bytes) });
  }
  return files;
}

async function entriesOf(root: string) {
  try {
    return await readdir(root, { withFileTypes: true, recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

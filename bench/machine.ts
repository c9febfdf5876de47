import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { pinned, programs } from './tools.ts';

/** The machine in one line. */
export function describeMachine(): string {
  const model = cpus()[0]?.model ?? 'unknown CPU';
  return `${model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`;
}

/** The first two cores this process may use: one for what is measured, one for everything else. */
export function pickCores(): readonly [number, number] {
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  const cores = list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  const [measured, others] = cores;
  if (measured === undefined || others === undefined) throw new Error('the benchmark needs two cores');
  return [measured, others];
}

/** Program → the version that runs here. */
export function versions(): Record<string, string> {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return {
    portcullis: `${manifest.version} (${commit()}), Node ${process.versions.node}`,
    haproxy: firstVersion(programs.haproxy, ['-v']),
    nginx: firstVersion(programs.nginx, ['-v']),
    envoy: pinned.envoy,
    supergateway: pinned.supergateway,
    'mcp-proxy': pinned['mcp-proxy'],
    wrk: firstVersion(programs.wrk, ['-v']),
    h2load: firstVersion(programs.h2load, ['--version']),
  };
}

function commit(): string {
  try {
    const dirty = execFileSync('git', ['status', '--porcelain', 'src', 'bin'], { encoding: 'utf8' }) !== '';
    const hash = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
    return dirty ? `${hash} with changes` : hash;
  } catch {
    return 'no git';
  }
}

/** Some of them print their version on stderr and some exit with 1 after it. */
function firstVersion(command: string, args: string[]): string {
  let text = '';
  try {
    text = execFileSync('sh', ['-c', `${command} ${args.join(' ')} 2>&1 || true`], { encoding: 'utf8' });
  } catch {
    return 'unknown';
  }
  return /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? 'unknown';
}

/**
 * The number of files that a process may open at most (RLIMIT_NOFILE, the hard limit, which Node raises its own
 * to).
 */
export function filesLimit(): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return hard === undefined || hard === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(hard);
}

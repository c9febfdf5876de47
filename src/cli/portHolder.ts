import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { printable } from './printable.ts';

/** The tables of the sockets of Linux, and the states of a socket that holds its port. */
const tables: readonly { readonly file: string; readonly state: string }[] = [
  { file: '/proc/net/tcp', state: '0A' },
  { file: '/proc/net/tcp6', state: '0A' },
  { file: '/proc/net/udp', state: '07' },
  { file: '/proc/net/udp6', state: '07' },
];

/**
 * Names the process that holds a port, such as `process 4711 (node portcullis)`. Linux tells it to the user of that
 * process, and to root.
 * @returns undefined where the system does not tell
 */
export function portHolder(port: number): string | undefined {
  const sockets = new Set(tables.flatMap(({ file, state }) => inodesOn(port, file, state)));
  if (sockets.size === 0) return undefined;
  for (const pid of entries('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const descriptor of entries(`/proc/${pid}/fd`)) {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(target(`/proc/${pid}/fd/${descriptor}`)) ?? [];
      if (inode !== undefined && sockets.has(inode)) return `process ${pid} (${programOf(pid)})`;
    }
  }
  return undefined;
}

/** The sockets of a table that hold a port: `sl local_address rem_address st … inode`, addresses in hex. */
function inodesOn(port: number, table: string, state: string): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return textOf(table)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , at]) => local.endsWith(suffix) && at === state)
    .flatMap((fields) => fields[9] ?? []);
}

/** The name of a program. Its other arguments can hold secrets. */
function programOf(pid: string): string {
  const [program = '', ...args] = textOf(`/proc/${pid}/cmdline`).split('\0');
  const name = basename(program);
  // The file that an interpreter runs.
  const script = /^(?:node|python[\d.]*|ruby|java)$/.test(name)
    ? args.find((arg) => /^[\w./-]*\/[\w.-]+$/.test(arg))
    : undefined;
  return printable([name, ...(script === undefined ? [] : [basename(script)])].join(' '));
}

function entries(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

// @ts-check
// Ends a program when the program that started it is gone. Plain JavaScript that any Node since 14 can read.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';

/** Names the descriptor of a pipe that the parent holds: the pipe closes when the parent is gone, even by SIGKILL. */
export const tetherVariable = 'PORTCULLIS_TETHER';

/** Where a parent puts the pipe: the first descriptor after the standard ones. */
export const tetherDescriptor = 3;

const pollMs = 500;

/**
 * Watches the pipe to the parent, where there is one.
 * @param {() => void} gone
 * @returns {boolean} whether there is one
 */
export function watchTether(gone) {
  const descriptor = Number(process.env[tetherVariable]);
  // The variable is for this process, not for those that it starts.
  delete process.env[tetherVariable];
  if (!Number.isInteger(descriptor) || descriptor < 3) return false;
  const tether = new Socket({ fd: descriptor, readable: true, writable: false });
  tether.on('error', () => undefined);
  tether.on('close', gone);
  tether.resume();
  tether.unref();
  return true;
}

const shells = /^-?(?:\S*\/)?(?:sh|dash|bash|ash|zsh|ksh|busybox)(?:\s|$)/;
const managers = /(?:^|[\s/\\])(?:npm|npx|pnpm|pnpx|yarn|bun|bunx)(?:-cli|-[\d.]+)?(?:\.c?js)?(?:\s|$)/;
/** A lone ampersand: the script of the shell leaves a program in the background. */
const background = /(?:^|[^&<>|\\])&(?![&>\d])/;

/**
 * Watches the package manager (`npm run`, `npx`) that started this program, at once or by the shell of a script. Neither
 * holds a pipe to this program, so the chain of parents is looked at. Programs that a shell or a service manager
 * started are not watched, and neither are those that a script of the shell leaves in the background.
 * @param {() => void} gone
 */
export function watchPackageManager(gone) {
  if (process.env.npm_execpath === undefined && process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const command = commandOf(parent);
  const shell = shells.test(command) ? parent : undefined;
  const manager = shell === undefined ? parent : parentOf(parent);
  if (manager === undefined || !managers.test(shell === undefined ? command : commandOf(manager))) return;
  const mayBeLeft = shell !== undefined && background.test(command);
  const timer = setInterval(() => {
    const there = process.ppid === parent;
    if (there && (shell === undefined || isParent(manager, shell))) return;
    clearInterval(timer);
    // A shell that has ended by itself has left this program to go on.
    if (there || !mayBeLeft) gone();
  }, pollMs);
  timer.unref();
}

/** @param {number} manager @param {number} shell */
function isParent(manager, shell) {
  if (process.platform === 'linux') return parentOf(shell) === manager;
  try {
    // Cheaper than a program for each look.
    return process.kill(manager, 0);
  } catch {
    return false;
  }
}

/** @param {number} pid @returns {string} */
function commandOf(pid) {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0/g, ' ').trim();
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/** @param {number} pid @returns {number | undefined} */
function parentOf(pid) {
  try {
    if (process.platform !== 'linux')
      return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }));
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in parentheses and may hold any character.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

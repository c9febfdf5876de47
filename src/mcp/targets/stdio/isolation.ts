import { readFileSync } from 'node:fs';
import type { ChildIsolation, StdioTarget } from '../../../model/index.ts';

/** A command with the rights that its process gets. */
export interface IsolatedCommand {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * The command of a target behind the programs of util-linux that take rights away before they start it.
 * @throws Error where the platform or the user database cannot do it
 */
export function isolatedCommand(
  { cmd, args, isolation }: Pick<StdioTarget, 'cmd' | 'args' | 'isolation'>,
  platform: NodeJS.Platform = process.platform,
): IsolatedCommand {
  if (isolation === undefined) return { cmd, args };
  const before = wrappers(isolation);
  if (before.length > 0 && platform !== 'linux')
    throw new Error('limits, privateProcesses and noNewPrivileges need Linux');
  const [program = cmd, ...rest] = [...before, cmd, ...args];
  return { cmd: program, args: rest, ...idsOf(isolation) };
}

function wrappers({ limits = {}, privateProcesses, noNewPrivileges }: ChildIsolation): readonly string[] {
  const values = [
    ['as', limits.memoryBytes],
    ['cpu', limits.cpuSeconds],
    ['nofile', limits.openFiles],
    ['nproc', limits.processes],
  ] as const;
  const flags = values.flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}:${value}`],
  );
  return [
    // A new PID namespace with a /proc of its own. Its processes end with the first one.
    ...(privateProcesses === true
      ? ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--mount-proc', '--kill-child', '--']
      : []),
    ...(noNewPrivileges === true ? ['setpriv', '--no-new-privs', '--'] : []),
    // The programs above get the limits of the gateway.
    ...(flags.length === 0 ? [] : ['prlimit', ...flags, '--']),
  ];
}

/** @throws Error for names that the machine does not know */
function idsOf({ user, group }: ChildIsolation): Pick<IsolatedCommand, 'uid' | 'gid'> {
  const account = user === undefined ? undefined : accountOf(user);
  const gid = group === undefined ? account?.gid : groupOf(group);
  if (account !== undefined && gid === undefined)
    throw new Error(`the user ${String(user)} is in no list of users: group is needed, too`);
  return {
    ...(account === undefined ? {} : { uid: account.uid }),
    ...(gid === undefined ? {} : { gid }),
  };
}

function accountOf(user: string | number): { readonly uid: number; readonly gid: number | undefined } {
  const found = entryOf('/etc/passwd', user);
  if (found !== undefined) return { uid: Number(found[2]), gid: Number(found[3]) };
  if (typeof user === 'number') return { uid: user, gid: undefined };
  throw new Error(`there is no user ${user} in /etc/passwd`);
}

function groupOf(group: string | number): number {
  if (typeof group === 'number') return group;
  const found = entryOf('/etc/group', group);
  if (found === undefined) throw new Error(`there is no group ${group} in /etc/group`);
  return Number(found[2]);
}

/** The fields of a line by its name or its number, which are the first and the third one. */
const entryOf = (file: string, key: string | number): readonly string[] | undefined =>
  readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find((fields) => fields.length > 2 && fields[typeof key === 'number' ? 2 : 0] === String(key));

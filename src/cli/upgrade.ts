import { adminFlags, askAdmin } from './adminPort.ts';
import { UsageError, type Command, type Flags, type Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import { printable } from './printable.ts';
import { reasonOf } from './reason.ts';

/** Problems with signals. */
const problems: ReadonlyMap<string, string> = new Map([
  ['ESRCH', 'no such process'],
  ['EPERM', 'it belongs to another user'],
]);

export const upgrade: Command = {
  summary: 'replace a running gateway with a new program, without refusing a connection',
  usage: '[--admin ADDRESS | --pid PID]',
  flags: {
    admin: { ...adminFlags.admin, help: `${adminFlags.admin.help}; waits for the result` },
    'secret-file': adminFlags['secret-file'],
    pid: {
      type: 'string',
      value: 'PID',
      help: 'process id of the gateway; does not wait: the log of the gateway shows the result',
    },
  },
  positionals: 0,
  async run(flags, _positionals, terminal) {
    const { admin, pid } = flags;
    if (typeof pid === 'string') {
      if (admin !== undefined) throw new UsageError('give either --admin or --pid, not both');
      return signal(pid, terminal);
    }
    return await ask(flags, terminal);
  },
};

function signal(pid: string, terminal: Terminal): number {
  if (!/^[1-9]\d*$/.test(pid)) throw new UsageError(`--pid ${JSON.stringify(pid)}: expected a process id`);
  try {
    process.kill(Number(pid), 'SIGUSR2');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    terminal.err(`portcullis: process ${pid}: ${problems.get(code) ?? reasonOf(error)}\n`);
    return exitCode.failed;
  }
  terminal.out(`process ${pid} was signalled; its log shows the result\n`);
  return exitCode.ok;
}

async function ask({ admin, 'secret-file': secretFile }: Flags, terminal: Terminal): Promise<number> {
  const answer = await askAdmin(
    {
      method: 'POST',
      path: '/upgrade',
      address: typeof admin === 'string' ? admin : undefined,
      secretFile: typeof secretFile === 'string' ? secretFile : undefined,
    },
    terminal,
  );
  if (answer === undefined) return exitCode.failed;
  if (answer.status === 200) {
    terminal.out(printable(answer.body));
    return exitCode.ok;
  }
  terminal.err(`portcullis: upgrade failed: ${printable(answer.body)}`);
  return exitCode.failed;
}

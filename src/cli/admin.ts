import { adminFlags, askAdmin } from './adminPort.ts';
import { UsageError, type Command } from './command.ts';
import { exitCode } from './exitCode.ts';
import { printable } from './printable.ts';

export const admin: Command = {
  summary: 'query the admin port of a running gateway, or change one of its settings',
  usage: '[--post] [PATH]',
  flags: {
    post: { type: 'boolean', help: 'send a change: /logging?level=debug, /quitquitquit, /upgrade' },
    ...adminFlags,
  },
  positionals: 1,
  async run({ post, admin: address, 'secret-file': secretFile }, [path = '/'], terminal) {
    if (!path.startsWith('/'))
      throw new UsageError(`${JSON.stringify(path)}: expected a path that begins with /`);
    const answer = await askAdmin(
      {
        method: post === true ? 'POST' : 'GET',
        path,
        address: typeof address === 'string' ? address : undefined,
        secretFile: typeof secretFile === 'string' ? secretFile : undefined,
        // A stream of events has no end.
        onEvents: (text) => terminal.out(printable(text)),
      },
      terminal,
    );
    if (answer === undefined) return exitCode.failed;
    if (answer.status < 400) {
      terminal.out(printable(answer.body));
      return exitCode.ok;
    }
    terminal.err(`portcullis: ${answer.status} ${printable(answer.body)}`);
    return exitCode.failed;
  },
};

import { adminFlags, askAdmin } from './adminPort.ts';
import { UsageError, type Command } from './command.ts';
import { exitCode } from './exitCode.ts';
import { printable } from './printable.ts';

const roles = ['operator', 'viewer'] as const;

export const consoleCommand: Command = {
  summary: 'print a link that opens the console of a running gateway, once',
  usage: '[--role viewer]',
  flags: {
    role: {
      type: 'string',
      value: 'ROLE',
      help: 'operator, the default, who may change something, or viewer',
    },
    ...adminFlags,
  },
  positionals: 0,
  async run({ role = 'operator', admin: address, 'secret-file': secretFile }, _positionals, terminal) {
    if (!roles.some((one) => one === role)) throw new UsageError(`--role: expected ${roles.join(' or ')}`);
    const answer = await askAdmin(
      {
        method: 'POST',
        path: '/api/v1/login-links',
        body: JSON.stringify({ role }),
        address: typeof address === 'string' ? address : undefined,
        secretFile: typeof secretFile === 'string' ? secretFile : undefined,
      },
      terminal,
    );
    if (answer === undefined) return exitCode.failed;
    const { url, detail } = read(answer.body);
    if (answer.status === 200 && url !== undefined) {
      terminal.out(printable(`${url}\n`));
      return exitCode.ok;
    }
    terminal.err(`portcullis: ${answer.status} ${printable(`${detail ?? answer.body.trim()}\n`)}`);
    return exitCode.failed;
  },
};

/** The link, or the reason why there is none. */
function read(body: string): { readonly url?: string; readonly detail?: string } {
  try {
    return JSON.parse(body) as { readonly url?: string; readonly detail?: string };
  } catch {
    return {};
  }
}

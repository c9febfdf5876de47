import { request, type RequestOptions } from 'node:http';
import { UsageError, type Command, type Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import { reasonOf } from './reason.ts';

/** Where the admin port is unless the configuration says otherwise. */
const usualAddress = '127.0.0.1:15000';

/** Of signals. */
const problems: ReadonlyMap<string, string> = new Map([
  ['ESRCH', 'there is none'],
  ['EPERM', 'it belongs to another user'],
]);

export const upgrade: Command = {
  summary: 'have a new program take the place of a running gateway, without a refused connection',
  usage: '[--admin ADDRESS | --pid PID]',
  flags: {
    admin: {
      type: 'string',
      value: 'ADDRESS',
      help: `admin port of the gateway: HOST:PORT or unix:PATH (${usualAddress}); waits for the outcome`,
    },
    pid: {
      type: 'string',
      value: 'PID',
      help: 'process of the gateway; does not wait: its log says the outcome',
    },
  },
  positionals: 0,
  async run({ admin, pid }, _positionals, terminal) {
    if (typeof pid === 'string') {
      if (admin !== undefined) throw new UsageError('--admin or --pid, not both');
      return signal(pid, terminal);
    }
    return await ask(typeof admin === 'string' ? admin : usualAddress, terminal);
  },
};

function signal(pid: string, terminal: Terminal): number {
  if (!/^[1-9]\d*$/.test(pid)) throw new UsageError(`--pid ${JSON.stringify(pid)}: not a process id`);
  try {
    process.kill(Number(pid), 'SIGUSR2');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    terminal.err(`portcullis: process ${pid}: ${problems.get(code) ?? reasonOf(error)}\n`);
    return exitCode.failed;
  }
  terminal.out(`process ${pid} was told; its log says what comes of it\n`);
  return exitCode.ok;
}

async function ask(address: string, terminal: Terminal): Promise<number> {
  try {
    const { status, body } = await post(targetOf(address));
    if (status === 200) {
      terminal.out(body);
      return exitCode.ok;
    }
    terminal.err(`portcullis: no upgrade: ${body}`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    terminal.err(`portcullis: no gateway answers at ${address}: ${reasonOf(error)}\n`);
  }
  return exitCode.failed;
}

/** @throws UsageError where it is no address */
function targetOf(address: string): RequestOptions {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) };
  try {
    const { hostname, port, pathname } = new URL(`http://${address.replace(/^http:\/\//, '')}`);
    if (hostname !== '' && pathname === '/')
      return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port || 80 };
  } catch {
    // Said below.
  }
  throw new UsageError(`--admin ${JSON.stringify(address)}: expected HOST:PORT or unix:PATH`);
}

function post(target: RequestOptions): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    request({ ...target, method: 'POST', path: '/upgrade', agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end();
  });
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Program, Receive, Wire } from './wire.ts';

/** Starts a server and speaks with it over its standard input and output. */
export function stdioWire({ cmd, args, env }: Program, receive: Receive): Wire {
  const child = spawn(cmd, [...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, ...env },
  });
  const closed = once(child, 'close');
  closed.catch(() => undefined);
  // A server that has ended cannot be written to; the test then waits in vain, and says for what.
  child.stdin.on('error', () => undefined);
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    // Not `node:readline`, for which U+2028 ends a line too.
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') receive(line, 'all');
  });
  const close = async (): Promise<void> => {
    child.stdin.end();
    child.kill('SIGTERM');
    await closed;
  };
  return {
    send: (text) => {
      child.stdin.write(`${text}\n`);
      return Promise.resolve(undefined);
    },
    listen: () => Promise.resolve(),
    end: async () => {
      await close();
      // Stdio has no statuses. These are the ones that HTTP demands.
      return [204, 404];
    },
    close,
  };
}

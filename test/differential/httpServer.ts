import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Program } from './wire.ts';

export interface HttpServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a program that prints the URL of its server as the first line of its standard output. */
export async function startHttpServer({ cmd, args, env }: Program): Promise<HttpServer> {
  const child = spawn(cmd, [...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const closed = once(child, 'close');
  closed.catch(() => undefined);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([
    once(lines, 'line') as Promise<[string]>,
    closed.then(() => {
      throw new Error(`${cmd} ${args.join(' ')} ended without a URL:\n${errors}`);
    }),
  ]);
  // A full pipe would stop a server that prints more.
  lines.resume();
  return {
    url: first[0],
    async close() {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

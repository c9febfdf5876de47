import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { startEcho } from './server.ts';

const usage = `usage: node apps/echo/src/index.ts [--port 8000] [--host 127.0.0.1]

The sample HTTP app: answers with what it was asked. PORT in the environment is
the port when no flag gives one; port 0 takes a free one.
`;

/** Runs the app until SIGINT or SIGTERM. Answers the exit code: 0 stopped, 1 could not listen, 2 wrong usage. */
export async function main(argv: string[]): Promise<number> {
  let options: { port: number; host: string };
  try {
    const { values } = parseArgs({
      args: argv,
      options: { port: { type: 'string' }, host: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help) {
      process.stdout.write(usage);
      return 0;
    }
    options = {
      port: readPort(values.port ?? process.env['PORT'] ?? '8000'),
      host: values.host ?? '127.0.0.1',
    };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  try {
    const echo = await startEcho(options);
    process.stdout.write(`echo listening on ${echo.url}\n`);
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    await echo.close();
    return 0;
  } catch (error) {
    process.stderr.write(`echo cannot listen: ${(error as Error).message}\n`);
    return 1;
  }
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65535) throw new Error(`not a port: ${text}`);
  return port;
}

/**
 * `npm run demo`: starts the whole quickstart on this machine, walks through it with real requests and prints
 * each as a command that can be pasted. Then it keeps running until Ctrl-C; with `--once` it ends, with 0 when
 * every answer was the expected one and 1 otherwise.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { watchPackageManager } from '../../bin/parent.js';
import { printer } from './demo/print.ts';
import { startStack, type Stack } from './demo/stack.ts';
import { takeWalk } from './demo/walk.ts';

const usage = `usage: npm run demo [-- --once]

  --once   do the walk, stop everything and answer with the exit code
`;

async function main(argv: string[]): Promise<number> {
  let isOnce: boolean;
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        once: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      return 0;
    }
    isOnce = values.once;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }

  // One terminal's Ctrl-C reaches this process twice under npm: from the terminal and passed on. It stays
  // listened to until the end, so that the second one cannot cut the stopping short.
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop);
  watchPackageManager(stop);

  const print = printer(process.stdout);
  let stack: Stack | undefined;
  try {
    stack = await startStack(print, stopped.signal);
    const failures = await takeWalk(stack.addresses, print, stopped.signal);
    if (stopped.signal.aborted) return 1;
    if (failures > 0) stack.showGatewayLog();
    if (isOnce) return failures > 0 ? 1 : 0;
    stack.followGatewayLog();
    await Promise.race([once(stopped.signal, 'abort'), stack.gatewayEnded]);
    if (stopped.signal.aborted) return 0;
    print.problem('the gateway ended by itself');
    return 1;
  } catch (error) {
    if (stopped.signal.aborted) return 1;
    print.problem((error as Error).message);
    return 1;
  } finally {
    await stack?.close();
  }
}

process.exitCode = await main(process.argv.slice(2));

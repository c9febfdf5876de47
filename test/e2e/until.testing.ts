import { globSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks again and again until the answer is neither undefined nor false.
 *
 * @param what Completes "waited in vain for …".
 * @param ms A machine that does many things at once is slow.
 * @throws Error after `ms`, with the last thing that was thrown as its cause
 */
export async function until<T>(
  what: string | (() => string),
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  ms = 60_000,
): Promise<T> {
  const deadline = Date.now() + ms;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline)
      throw new Error(`waited in vain for ${typeof what === 'string' ? what : what()}`, { cause: last });
    await delay(15);
  }
}

/**
 * Waits for the counter of rate limits of several workers. Who draws while it is being started waits for a second only.
 * @param folder the TMPDIR of the gateway, and of no other
 */
export const counterStarted = (folder: string): Promise<boolean> =>
  until('the counter of rate limits', () => globSync(`${folder}/*/tokens.sock`).length === 1);

/** Waits until nobody takes connections on a port of 127.0.0.1 any more. */
export const portClosed = (port = 0): Promise<boolean> =>
  until(
    'the port to close',
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(false);
        }).on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
      }),
  );

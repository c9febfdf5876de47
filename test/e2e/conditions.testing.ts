import { globSync } from 'node:fs';
import { connect } from 'node:net';
import { until } from '../../src/until.testing.ts';

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

import { createServer, type ServerResponse } from 'node:http';
import { listenOnLoopback } from '../support/loopback.ts';

/** A backend whose answers to `/held` wait until they are let go; all others come at once. */
export async function startHolder() {
  const held: ServerResponse[] = [];
  const { port, close } = await listenOnLoopback(
    createServer((request, response) => {
      response.on('error', () => undefined);
      if (request.url === '/held') held.push(response);
      else response.end('at once');
    }),
  );
  return {
    port,
    held,
    release: () => held.splice(0).forEach((response) => response.end('at last')),
    [Symbol.asyncDispose]: close,
  };
}

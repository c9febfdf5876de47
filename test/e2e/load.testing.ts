import { Agent } from 'node:http';
import { ask } from './http.testing.ts';

export interface Load {
  /** Requests answered so far. */
  readonly served: number;
  /** The failures, a line each. */
  readonly failures: readonly string[];
  /** Ends the load after the requests under way, and closes its connections. */
  stop(): Promise<void>;
}

/**
 * Asks again and again, in so many loops side by side, until it is stopped.
 * @param one rejects where it gets no sound answer
 * @param agent closed at the end
 */
export function repeat(loops: number, one: () => Promise<void>, agent?: Agent): Load {
  const failures: string[] = [];
  let served = 0;
  let running = true;
  const loop = async (): Promise<void> => {
    while (running) {
      try {
        await one();
        served++;
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const all = Promise.all(Array.from({ length: loops }, loop));
  return {
    get served() {
      return served;
    },
    failures,
    async stop() {
      running = false;
      await all;
      agent?.destroy();
    },
  };
}

/**
 * Hammers a URL, one request after the other on each of so many connections, until it is stopped.
 * @param keepAlive false: each request has a connection of its own
 */
export function startLoad(
  url: string,
  connections: number,
  accept: (status: number, body: string) => boolean,
  keepAlive = true,
): Load {
  const agent = new Agent({ keepAlive, maxSockets: connections });
  const one = async (): Promise<void> => {
    const { status, body } = await ask(url, { agent });
    if (!accept(status, body)) throw new Error(`${status} ${body.slice(0, 200)}`);
  };
  return repeat(connections, one, agent);
}

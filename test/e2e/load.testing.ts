import { Agent, request } from 'node:http';

export interface Load {
  /** Requests answered so far. */
  readonly served: number;
  /** What went wrong, a line each. */
  readonly failures: readonly string[];
  /** Ends the load after the requests under way, and closes its connections. */
  stop(): Promise<void>;
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
  const failures: string[] = [];
  let served = 0;
  let running = true;

  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const fail = (error: Error): void => {
        failures.push(error.message);
        resolve();
      };
      request(url, { agent }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('error', fail).on('end', () => {
          const status = response.statusCode ?? 0;
          if (response.complete && accept(status, body)) served++;
          else failures.push(`${status} ${body.slice(0, 200)}`);
          resolve();
        });
      })
        .on('error', fail)
        .end();
    });
  const loop = async (): Promise<void> => {
    while (running) await one();
  };
  const loops = Promise.all(Array.from({ length: connections }, loop));
  return {
    get served() {
      return served;
    },
    failures,
    async stop() {
      running = false;
      await loops;
      agent.destroy();
    },
  };
}

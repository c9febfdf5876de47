/**
 * Asks a gateway again and again, on connections that stay and on new ones, until a file appears:
 * `askingClient.ts ADDRESS HOST STOP-FILE`. Prints how many answers there were, and every failure.
 */
import { existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const [address = '', host = '', stop = ''] = process.argv.slice(2);
const failures: string[] = [];
let answers = 0;

/** The result of a request: its status, or the reason why there is none. */
const ask = async (agent: Agent | false): Promise<string> =>
  await new Promise((resolve) => {
    const asked = request(
      { host: address, port: 80, path: '/headers', headers: { host }, agent, timeout: 20_000 },
      (response) => {
        response.resume();
        response.on('error', (error) => resolve(`broken off: ${error.message}`));
        response.on('end', () => resolve(String(response.statusCode)));
      },
    );
    asked.on('timeout', () => asked.destroy(new Error('no answer in 20 s')));
    asked.on('error', (error) =>
      resolve(`${error.message}${asked.reusedSocket ? ' (kept connection)' : ''}`),
    );
    asked.end();
  });

/** Runs a client for each way of connecting; a dozen requests a second each, so that much is under way. */
const client = async (agent: Agent | false): Promise<void> => {
  while (!existsSync(stop)) {
    const result = await ask(agent);
    answers++;
    if (result !== '200') failures.push(`${new Date().toISOString()} ${result}`);
    await pause(80);
  }
};

const keeping = new Agent({ keepAlive: true, maxSockets: 8 });
await Promise.all(Array.from({ length: 8 }, (_, index) => client(index % 2 === 0 ? keeping : false)));
keeping.destroy();
process.stdout.write(JSON.stringify({ answers, failures: failures.slice(0, 20) }));

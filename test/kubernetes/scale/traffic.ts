import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

/** An address of this machine that EndpointSlices take: they refuse loopback. Nothing of it leaves the machine. */
export function ownAddress(): string {
  for (const addresses of Object.values(networkInterfaces()))
    for (const { family, internal, address } of addresses ?? [])
      if (family === 'IPv4' && !internal && !address.startsWith('169.254.')) return address;
  throw new Error('this machine has no address but loopback, which EndpointSlices refuse');
}

export interface App {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers with its own name, and with the policy that the request has met. */
export async function startApp(name: string, address: string): Promise<App> {
  const server = createServer(({ headers }, response) => {
    const policy = headers['x-policy'];
    if (policy !== undefined) response.setHeader('x-policy', policy);
    response.setHeader('x-app', name).end(name);
  });
  await new Promise<void>((resolve) => void server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly version: string | undefined;
  readonly app: string | undefined;
  readonly policy: string | undefined;
}

/** A client that asks again and again on one connection that is kept. */
export class Client {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly port: number;
  private readonly host: string;
  asked = 0;
  /** Answers other than 200: a change must cost none. */
  failed = 0;

  constructor(port: number, host: string) {
    this.port = port;
    this.host = host;
  }

  async ask(): Promise<Answer> {
    this.asked++;
    const answer = await new Promise<Answer>((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.port,
          path: '/real',
          agent: this.agent,
          headers: { host: this.host },
          timeout: 5_000,
        },
        (response) => {
          response.resume().once('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              version: response.headers['x-version']?.toString(),
              app: response.headers['x-app']?.toString(),
              policy: response.headers['x-policy']?.toString(),
            }),
          );
        },
      );
      sent.once('timeout', () => sent.destroy(new Error('no answer within five seconds')));
      sent.once('error', reject).end();
    });
    if (answer.status !== 200) this.failed++;
    return answer;
  }

  /** Asks until an answer is as wanted; resolves to it. @throws Error after a minute */
  async until(what: string, holds: (answer: Answer) => boolean): Promise<void> {
    const end = performance.now() + 60_000;
    for (;;) {
      if (holds(await this.ask())) return;
      if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
      await pause(3);
    }
  }

  close(): void {
    this.agent.destroy();
  }
}

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { startDevIdp, type DevIdpConfig } from '@portcullis/dev-idp';
import { startEcho } from '@portcullis/echo';
import { startGateway } from './gateway.ts';
import { freePort } from './port.ts';
import type { Printer } from './print.ts';
import type { Addresses } from './steps.ts';

const ports = { gateway: 3000, idp: 9000, echo: 8000, admin: 15000, stats: 15020, readiness: 15021 };

export interface Stack {
  readonly addresses: Addresses;
  readonly gatewayEnded: Promise<void>;
  showGatewayLog(): void;
  followGatewayLog(): void;
  /** Stops the parts in the order in which they need each other. */
  close(): Promise<void>;
}

/** Starts the authorization server, the HTTP app and the gateway, and waits until the gateway is ready. */
export async function startStack(print: Printer, signal: AbortSignal): Promise<Stack> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    print.line('Starting');
    const config = parse(await readFile(new URL('../idp.yaml', import.meta.url), 'utf8')) as DevIdpConfig;
    const idp = await startDevIdp({
      config,
      port: await portFor('idp', print),
      adminSecret: process.env['IDP_ADMIN_SECRET'] || undefined,
    });
    closers.push(() => idp.close());
    print.part('authorization server', idp.issuer);

    const echo = await startEcho({ port: await portFor('echo', print) });
    closers.push(() => echo.close());
    print.part('echo app', echo.url);

    const [port, admin, stats, readiness] = [
      await portFor('gateway', print),
      await portFor('admin', print),
      await portFor('stats', print),
      await portFor('readiness', print),
    ];
    print.part('gateway', 'starting …');
    const gateway = startGateway({
      GATEWAY_PORT: String(port),
      IDP_ISSUER: idp.issuer,
      ECHO_HOST: `127.0.0.1:${echo.port}`,
      ADMIN_ADDR: `127.0.0.1:${admin}`,
      STATS_ADDR: `127.0.0.1:${stats}`,
      READINESS_ADDR: `127.0.0.1:${readiness}`,
    });
    closers.push(() => gateway.close());
    await gateway.ready(`http://127.0.0.1:${readiness}/healthz/ready`, signal);
    const url = `http://localhost:${port}`;
    print.part('gateway', `${url} (MCP at ${url}/mcp)`);
    print.part('', `admin http://127.0.0.1:${admin}, metrics http://127.0.0.1:${stats}/metrics`);

    return {
      addresses: { gateway: url, issuer: idp.issuer, idp: idp.url, adminSecret: idp.adminSecret },
      gatewayEnded: gateway.ended,
      showGatewayLog() {
        print.line('\nThe gateway said:');
        for (const line of gateway.log()) print.line(line);
      },
      followGatewayLog() {
        print.line(`
All of it keeps running; Ctrl-C stops it. The log of the gateway follows.
To log in as a user, give ${url}/mcp to the Inspector (npx @modelcontextprotocol/inspector) or to an editor, and
choose alice (who is in the group) or bob (who is not).
`);
        gateway.follow((line) => print.line(line));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function portFor(part: keyof typeof ports, print: Printer): Promise<number> {
  const port = await freePort(ports[part]);
  if (port !== ports[part]) print.part(part, `port ${ports[part]} is taken, using ${port}`);
  return port;
}

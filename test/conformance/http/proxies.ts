import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request, type Server } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startGateway } from '../../support/gateway.ts';
import { freePorts } from '../../support/loopback.ts';

/** A gateway that runs, with a port for each backend. */
export interface Proxy {
  readonly ports: readonly number[];
  /** Takes HTTP/2 without TLS on the same ports. */
  readonly http2: boolean;
  readonly pid?: number;
  stop(): Promise<void>;
}

type Start = (backends: readonly number[]) => Promise<Proxy>;

/** The gateway itself, as users run it. */
async function portcullis(backends: readonly number[]): Promise<Proxy> {
  const [first, ...others] = backends;
  const ports = await freePorts(others.length);
  const bind = (backend: number | undefined): Record<string, unknown> => ({
    listeners: [{ routes: [{ backends: [{ host: `127.0.0.1:${backend ?? 0}` }] }] }],
  });
  const gateway = await startGateway({
    binds: [bind(first), ...others.map((backend, i) => ({ port: ports[i], ...bind(backend) }))],
  });
  return {
    ports: [gateway.port, ...ports],
    http2: true,
    pid: gateway.pid,
    stop: async () => void (await gateway.stop()),
  };
}

const haproxyFile = (pairs: readonly (readonly [number, number])[]): string => `
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
  option http-keep-alive
  http-reuse always
${pairs
  .map(
    ([port, backend]) => `
frontend f${port}
  bind 127.0.0.1:${port}
  default_backend b${port}
backend b${port}
  server s 127.0.0.1:${backend}
`,
  )
  .join('')}`;

const nginxFile = (folder: string, pairs: readonly (readonly [number, number])[]): string => `
daemon off;
pid ${folder}/pid;
error_log /dev/null;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${pairs
  .map(
    ([port, backend]) => `
  upstream u${port} { server 127.0.0.1:${backend}; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://u${port};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }
  }
`,
  )
  .join('')}}`;

const socket = (port: number): unknown => ({ socket_address: { address: '127.0.0.1', port_value: port } });
/** JSON is YAML. */
const envoyFile = (pairs: readonly (readonly [number, number])[]): string =>
  JSON.stringify({
    static_resources: {
      listeners: pairs.map(([port]) => ({
        name: `l${port}`,
        address: socket(port),
        filter_chains: [
          {
            filters: [
              {
                name: 'http',
                typed_config: {
                  '@type':
                    'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                  stat_prefix: 'http',
                  codec_type: 'AUTO',
                  delayed_close_timeout: '0s',
                  route_config: {
                    virtual_hosts: [
                      {
                        name: 'all',
                        domains: ['*'],
                        routes: [{ match: { prefix: '/' }, route: { cluster: `c${port}` } }],
                      },
                    ],
                  },
                  http_filters: [
                    {
                      name: 'router',
                      typed_config: {
                        '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
                      },
                    },
                  ],
                },
              },
            ],
          },
        ],
      })),
      clusters: pairs.map(([port, backend]) => ({
        name: `c${port}`,
        type: 'STATIC',
        load_assignment: {
          cluster_name: `c${port}`,
          endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(backend) } }] }],
        },
      })),
    },
  });

/** node:http on both sides, with nothing in between: what a proxy is that checks nothing itself. */
async function node(backends: readonly number[]): Promise<Proxy> {
  const agent = new Agent({ keepAlive: true });
  const servers: Server[] = backends.map((port) =>
    createServer({ requireHostHeader: false }, (incoming, outgoing) => {
      const { method, url, headers } = incoming;
      const upstream = request({ host: '127.0.0.1', port, method, path: url, headers, agent });
      upstream.on('response', (answer) => {
        try {
          outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
        } catch {
          outgoing.destroy();
          return;
        }
        answer.pipe(outgoing);
        answer.on('error', () => outgoing.destroy());
      });
      upstream.on('error', () => {
        if (outgoing.headersSent) outgoing.destroy();
        else outgoing.writeHead(502).end();
      });
      incoming.pipe(upstream);
      incoming.on('error', () => upstream.destroy());
    }),
  );
  const ports: number[] = [];
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ports.push((server.address() as { port: number }).port);
  }
  return {
    ports,
    http2: false,
    stop: async () => {
      agent.destroy();
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

/** A program with a file. @param command what runs it, by the names of the file and the folder */
const program =
  (
    http2: boolean,
    file: (folder: string, pairs: readonly (readonly [number, number])[]) => string,
    command: (file: string, folder: string) => readonly [string, ...string[]],
  ): Start =>
  async (backends) => {
    const ports = await freePorts(backends.length);
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-against-'));
    const name = join(folder, 'config.yaml');
    writeFileSync(
      name,
      file(
        folder,
        ports.map((port, i) => [port, backends[i] as number] as const),
      ),
    );
    const [run, ...args] = command(name, folder);
    const child = spawn(run, args, { stdio: 'ignore' });
    await listening(ports, child);
    return {
      ports,
      http2,
      ...(child.pid !== undefined && { pid: child.pid }),
      stop: async () => {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
        rmSync(folder, { recursive: true });
      },
    };
  };

async function listening(ports: readonly number[], child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (const port of ports)
    while (!(await accepts(port))) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`nobody listens on port ${port}`);
      await delay(50);
    }
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(port, '127.0.0.1', () => {
      probe.destroy();
      resolve(true);
    });
    probe.on('error', () => resolve(false));
  });

const envoyBinary = fileURLToPath(new URL('../../../bench/.tools/python/envoy/_bin/envoy', import.meta.url));

/** The proxies that the corpus can be run against. */
export const proxies: Readonly<Record<string, Start>> = {
  portcullis,
  node,
  haproxy: program(
    true,
    (_folder, pairs) => haproxyFile(pairs),
    (file) => ['haproxy', '-db', '-f', file],
  ),
  nginx: program(false, nginxFile, (file, folder) => ['nginx', '-c', file, '-p', folder]),
  envoy: program(
    true,
    (_folder, pairs) => envoyFile(pairs),
    (file) => [
      existsSync(envoyBinary) ? envoyBinary : 'envoy',
      ...['-c', file, '--concurrency', '1', '--log-level', 'off', '--use-dynamic-base-id'],
    ],
  ),
};

/** Is the program there? */
export function installed(name: string): boolean {
  if (name === 'portcullis' || name === 'node' || (name === 'envoy' && existsSync(envoyBinary))) return true;
  try {
    execFileSync('which', [name], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

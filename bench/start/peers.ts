import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../../test/support/loopback.ts';
import { programs } from '../tools.ts';

/** Another proxy with one route that answers by itself. */
interface Peer {
  readonly name: string;
  readonly config: (port: number) => string;
  readonly command: (file: string) => readonly [string, ...string[]];
}

export const peers: readonly Peer[] = [
  {
    name: 'Envoy',
    config: (port) => `
static_resources:
  listeners:
    - address: { socket_address: { address: 127.0.0.1, port_value: ${port} } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: one
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: { '@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ['*']
                      routes: [{ match: { prefix: / }, direct_response: { status: 204 } }]
`,
    command: (file) => [
      programs.envoy,
      ...['-c', file, '--concurrency', '1', '--log-level', 'error', '--use-dynamic-base-id'],
    ],
  },
  {
    name: 'Caddy',
    config: (port) => `{\n  admin off\n}\nhttp://127.0.0.1:${port} {\n  respond 204\n}\n`,
    command: (file) => [programs.caddy, 'run', '--config', file, '--adapter', 'caddyfile'],
  },
  {
    name: 'haproxy',
    config: (port) => `
global
  nbthread 1
defaults
  mode http
  timeout client 10s
  timeout connect 10s
  timeout server 10s
frontend one
  bind 127.0.0.1:${port}
  http-request return status 204
`,
    command: (file) => [programs.haproxy, '-db', '-f', file],
  },
];

/** A proxy that accepts connections. */
export interface Started {
  readonly ms: number;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/** Starts a peer, and waits until it accepts a connection. @throws Error if it ends before */
export async function startPeer({ name, config, command }: Peer, directory: string): Promise<Started> {
  const [port = 0] = await freePorts(1);
  const home = join(directory, name);
  mkdirSync(home, { recursive: true });
  const file = join(home, 'config.yaml');
  writeFileSync(file, config(port));
  const [program, ...args] = command(file);
  const before = performance.now();
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], HOME: home },
    stdio: 'ignore',
  });
  const exit = new Promise<void>((done) => child.on('exit', () => done()));
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${String(child.exitCode)}`);
    await delay(1);
  }
  const ms = performance.now() - before;
  const stop = async (): Promise<void> => {
    child.kill();
    await exit;
  };
  return { ms, pid: child.pid ?? 0, stop };
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

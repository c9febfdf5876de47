import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/loopback.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';
import { programs } from '../tools.ts';
import { fillIn, startNginx, type Setting } from './setting.ts';

/** A way to the backend. */
export interface Candidate {
  readonly name: string;
  readonly title: string;
  /** Workloads it takes part in; absent is all but that of many routes. */
  readonly workloads?: readonly string[];
  start(setting: Setting): Promise<Running>;
}

export interface Running {
  readonly port: number;
  /** Sent with each request where the candidate demands a token. */
  readonly token?: string;
  /** Routes that requests of the workload `routes` go to, one after the other. */
  readonly routes?: number;
  /** Absent where nothing stands in between. */
  readonly program?: Pinned;
  /** A line for each request, so that a log which drops lines is not taken for a cheap one. */
  readonly accessLog?: string;
}

const launcher = fileURLToPath(new URL('../../bin/portcullis', import.meta.url));

/** Starts portcullis on `bench/portcullis.yaml`; also what `--profile` measures, with Node's own options. */
export async function startPortcullis(
  setting: Setting,
  name = 'portcullis',
  nodeOptions: readonly string[] = [],
  file = fileURLToPath(new URL('../portcullis.yaml', import.meta.url)),
): Promise<Running & { readonly jwtPort: number; readonly program: Pinned }> {
  const [port, jwtPort, statsPort] = (await freePorts(3)) as [number, number, number];
  const accessLog = `${setting.directory}/${name}.log`;
  const program = startPinned(
    setting.cores[0],
    [process.execPath, ...nodeOptions, launcher, '-f', file],
    accessLog,
    {
      PORT: `${port}`,
      JWT_PORT: `${jwtPort}`,
      STATS_PORT: `${statsPort}`,
      BACKEND_PORT: `${setting.backendPort}`,
      ISSUER: setting.issuer.issuer,
      JWKS_URL: setting.issuer.jwksUrl,
    },
  );
  await waitForPort(port, program);
  return { port, jwtPort, program, accessLog };
}

/** Portcullis with so many further routes on the listener that is measured. */
const withRoutes = (routes: number): Candidate => ({
  name: `portcullis-${routes}`,
  title: `portcullis, ${routes} ${routes === 1 ? 'route' : 'routes'} more`,
  workloads: ['routes'],
  start: async (setting) => {
    const text = readFileSync(new URL('../portcullis.yaml', import.meta.url), 'utf8');
    const more = Array.from(
      { length: routes },
      (_, n) =>
        `          - matches: [{ path: { pathPrefix: /v2/orders/r${n} } }]\n` +
        `            backends: [{ host: '127.0.0.1:\${BACKEND_PORT}' }]\n`,
    );
    const file = `${setting.directory}/portcullis-${routes}.yaml`;
    writeFileSync(
      file,
      text.replace('routes:\n', (line) => line + more.join('')),
    );
    return { ...(await startPortcullis(setting, `portcullis-${routes}`, [], file)), routes };
  },
});

export const candidates: readonly Candidate[] = [
  {
    name: 'direct',
    title: 'no proxy',
    start: (setting) => Promise.resolve({ port: setting.backendPort }),
  },
  { name: 'portcullis', title: 'portcullis', start: (setting) => startPortcullis(setting) },
  {
    name: 'portcullis-jwt',
    title: 'portcullis, token and rule',
    workloads: ['get', 'post'],
    start: async (setting) => {
      const { jwtPort, ...running } = await startPortcullis(setting, 'portcullis-jwt');
      return { ...running, port: jwtPort, token: setting.token };
    },
  },
  ...[1, 100, 10_000].map(withRoutes),
  {
    name: 'haproxy',
    title: 'haproxy, 1 thread',
    start: async (setting) => {
      const [port, stats] = (await freePorts(2)) as [number, number];
      const file = fillIn(setting.directory, 'haproxy.cfg', values(setting, port, stats));
      const program = startPinned(
        setting.cores[0],
        [programs.haproxy, '-db', '-f', file],
        `${setting.directory}/haproxy.log`,
      );
      await waitForPort(port, program);
      return { port, program, accessLog: program.logFile };
    },
  },
  {
    name: 'nginx',
    title: 'nginx, 1 worker',
    start: async (setting) => {
      const [port, stats] = (await freePorts(2)) as [number, number];
      const program = await startNginx(
        setting.directory,
        setting.cores[0],
        'nginx.conf',
        'nginx',
        port,
        values(setting, port, stats),
      );
      return { port, program, accessLog: `${setting.directory}/nginx-access.log` };
    },
  },
  {
    name: 'envoy',
    title: 'Envoy, concurrency 1',
    start: async (setting) => {
      const [port, stats] = (await freePorts(2)) as [number, number];
      const file = fillIn(setting.directory, 'envoy.yaml', values(setting, port, stats));
      const program = startPinned(
        setting.cores[0],
        [programs.envoy, '-c', file, '--concurrency', '1', '--log-level', 'warning', '--use-dynamic-base-id'],
        `${setting.directory}/envoy.log`,
      );
      await waitForPort(port, program);
      return { port, program, accessLog: `${setting.directory}/envoy-access.log` };
    },
  },
];

const values = (setting: Setting, port: number, stats: number) => ({
  DIR: setting.directory,
  PORT: port,
  STATS_PORT: stats,
  BACKEND_PORT: setting.backendPort,
});

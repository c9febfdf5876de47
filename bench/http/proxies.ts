import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/loopback.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';
import { programs } from '../tools.ts';
import { fillIn, startNginx, type Setting } from './setting.ts';

/** A proxy that runs, with the ports it serves the same routes on. */
export interface Running {
  readonly port: number;
  readonly tlsPort?: number;
  /** Demands a token. */
  readonly tokenPort?: number;
  /** Demands a token and asks a rule. */
  readonly rulePort?: number;
  /** The port that Prometheus would read. */
  readonly statsPort?: number;
  /** Absent where nothing stands in between. */
  readonly program?: Pinned;
  /** Holds a line for each request, so that a log which drops lines is not taken for a cheap one. */
  readonly accessLog?: string;
}

export interface Options {
  /** An access log to a file. */
  readonly log?: boolean;
  /** Portcullis only: so many further routes. */
  readonly routes?: number;
  /** Portcullis only: the share of requests whose spans are exported. */
  readonly traced?: number;
  /** Portcullis only. */
  readonly nodeOptions?: readonly string[];
  /** Envoy only: buffers of 32 KiB. */
  readonly tight?: boolean;
}

type Starter = (setting: Setting, options: Options) => Promise<Running>;

/** The candidates, by the names that the command line takes. */
export const proxies = {
  direct: (setting) => Promise.resolve({ port: setting.backendPort }),
  portcullis: startPortcullis,
  haproxy: async (setting, options) => {
    const place = await prepare(setting, 'haproxy');
    const file = fillIn(place.directory, 'haproxy.cfg', place.values, switches(options));
    const program = startPinned(
      setting.cores[0],
      [programs.haproxy, '-db', '-f', file],
      `${place.directory}/out.log`,
    );
    await waitForPort(place.ports.port, program);
    return { ...place.ports, program, ...logged(options, program.logFile) };
  },
  nginx: async (setting, options) => {
    const place = await prepare(setting, 'nginx');
    const program = await startNginx(
      place.directory,
      setting.cores[0],
      'nginx.conf',
      'nginx',
      place.ports.port,
      place.values,
      switches(options),
    );
    return { ...place.ports, program, ...logged(options, `${place.directory}/nginx-access.log`) };
  },
  envoy: async (setting, options) => {
    const place = await prepare(setting, 'envoy');
    const file = fillIn(place.directory, 'envoy.yaml', place.values, switches(options));
    const program = startPinned(
      setting.cores[0],
      [programs.envoy, '-c', file, '--concurrency', '1', '--log-level', 'warning', '--use-dynamic-base-id'],
      `${place.directory}/out.log`,
    );
    await waitForPort(place.ports.port, program);
    return { ...place.ports, program, ...logged(options, `${place.directory}/envoy-access.log`) };
  },
} satisfies Record<string, Starter>;

export type ProxyName = keyof typeof proxies;

const launcher = fileURLToPath(new URL('../../bin/portcullis', import.meta.url));

/** Starts portcullis on `bench/portcullis.yaml`; also what is profiled, with Node's own options. */
export async function startPortcullis(
  setting: Setting,
  { log = false, routes = 0, traced, nodeOptions = [] }: Options,
): Promise<Running & { readonly statsPort: number; readonly program: Pinned }> {
  const { directory, ports } = await prepare(setting, 'portcullis');
  const [tokenPort, rulePort] = (await freePorts(2)) as [number, number];
  const logFile = `${directory}/out.log`;
  const program = startPinned(
    setting.cores[0],
    [process.execPath, ...nodeOptions, launcher, '-f', configuration(directory, routes, traced)],
    logFile,
    {
      PORT: `${ports.port}`,
      TLS_PORT: `${ports.tlsPort}`,
      TOKEN_PORT: `${tokenPort}`,
      RULE_PORT: `${rulePort}`,
      STATS_PORT: `${ports.statsPort}`,
      ACCESS_LOG: log ? 'text' : 'none',
      IDENTITY: `${setting.directory}/identity.pem`,
      BACKEND_PORT: `${setting.backendPort}`,
      COLLECTOR_PORT: `${setting.collectorPort}`,
      ISSUER: setting.issuer.issuer,
      JWKS_URL: setting.issuer.jwksUrl,
      WORKER_THREADS: '1',
    },
  );
  await waitForPort(ports.port, program);
  return { ...ports, tokenPort, rulePort, program, ...logged({ log }, logFile) };
}

/** With further routes on the listener that is measured, and with traces. */
function configuration(directory: string, routes: number, traced: number | undefined): string {
  const plain = readFileSync(new URL('../portcullis.yaml', import.meta.url), 'utf8');
  // The load has the traceparent of a client that sampled its requests.
  const tracing =
    `  tracing: { otlpEndpoint: 'http://127.0.0.1:\${COLLECTOR_PORT}', otlpProtocol: http,` +
    ` randomSampling: ${String(traced)}, clientSampling: ${String(traced)} }\n`;
  const text = traced === undefined ? plain : plain.replace('config:\n', (line) => line + tracing);
  const more = Array.from(
    { length: routes },
    (_, n) =>
      `          - matches: [{ path: { pathPrefix: /v2/orders/r${n} } }]\n` +
      `            backends: [{ host: '127.0.0.1:\${BACKEND_PORT}' }]\n`,
  );
  const file = `${directory}/portcullis.yaml`;
  writeFileSync(
    file,
    text.replace('routes:\n', (line) => line + more.join('')),
  );
  return file;
}

const started = new Map<string, number>();

/** A directory and ports for one more process of that kind. */
async function prepare(setting: Setting, name: string) {
  const number = (started.get(name) ?? 0) + 1;
  started.set(name, number);
  const directory = `${setting.directory}/${name}-${number}`;
  mkdirSync(directory, { recursive: true });
  const [port, tlsPort, statsPort] = (await freePorts(3)) as [number, number, number];
  const identity = readFileSync(`${setting.directory}/identity.pem`);
  writeFileSync(`${directory}/identity.pem`, identity, { mode: 0o600 });
  return {
    directory,
    ports: { port, tlsPort, statsPort },
    values: {
      DIR: directory,
      PORT: port,
      TLS_PORT: tlsPort,
      STATS_PORT: statsPort,
      BACKEND_PORT: setting.backendPort,
    },
  };
}

const switches = ({ log = false, tight = false }: Options) => ({ log, tight });

const logged = ({ log = false }: Options, accessLog: string) => (log ? { accessLog } : {});

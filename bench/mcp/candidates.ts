import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/loopback.ts';
import type { TestIssuer } from '../../test/support/issuer.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';
import { programs } from '../tools.ts';
import type { LoadOrders } from './load.ts';

export interface McpSetting {
  readonly directory: string;
  readonly issuer: TestIssuer;
  readonly token: string;
  readonly gatewayCore: number;
  readonly serverCore: number;
}

/** A way to the echo server. */
export interface McpCandidate {
  readonly name: string;
  readonly title: string;
  /** The servers run on the load generator's core; otherwise on the gateway's, where its children are anyway. */
  readonly apart?: true;
  start(setting: McpSetting): Promise<RunningGateway>;
}

export interface RunningGateway {
  readonly target: LoadOrders['target'];
  /** Absent where nothing stands in between. */
  readonly program?: Pinned;
  /** Programs that end with it. */
  readonly beside?: readonly Pinned[];
}

export const echoServer = fileURLToPath(new URL('echo-server.mjs', import.meta.url));
const launcher = fileURLToPath(new URL('../../bin/portcullis', import.meta.url));
const configuration = fileURLToPath(new URL('portcullis.yaml', import.meta.url));
const httpServer = fileURLToPath(new URL('echo-http-server.mjs', import.meta.url));
const httpConfiguration = fileURLToPath(new URL('portcullis-http.yaml', import.meta.url));

const serverCommand = (setting: McpSetting) => [
  'taskset',
  '-c',
  `${setting.serverCore}`,
  process.execPath,
  echoServer,
];

/** Starts portcullis on `portcullis.yaml`; also what `--profile` measures, with Node's own options. */
export async function startPortcullis(
  setting: McpSetting,
  nodeOptions: readonly string[] = [],
): Promise<RunningGateway & { readonly program: Pinned }> {
  const [port, statsPort] = (await freePorts(2)) as [number, number];
  const program = startPinned(
    setting.gatewayCore,
    [process.execPath, ...nodeOptions, launcher, '-f', configuration],
    `${setting.directory}/portcullis-mcp.log`,
    {
      PORT: `${port}`,
      STATS_PORT: `${statsPort}`,
      ISSUER: setting.issuer.issuer,
      JWKS_URL: setting.issuer.jwksUrl,
      SERVER_CORE: `${setting.serverCore}`,
      NODE: process.execPath,
      ECHO_SERVER: echoServer,
      WORKER_THREADS: '1',
    },
  );
  await waitForPort(port, program);
  return { target: { url: `http://127.0.0.1:${port}/mcp`, token: setting.token }, program };
}

export const candidates: readonly McpCandidate[] = [
  {
    name: 'direct',
    title: 'the server alone, over stdio',
    start: (setting) => Promise.resolve({ target: { command: serverCommand(setting) } }),
  },
  { name: 'portcullis', title: 'portcullis, token and rule', start: (setting) => startPortcullis(setting) },
  {
    name: 'supergateway',
    title: 'supergateway as it comes (logs every message)',
    start: (setting) => startGateway(setting, 'supergateway', supergatewayOptions(setting, 'info')),
  },
  {
    name: 'supergateway-silent',
    title: 'supergateway with `--logLevel none`',
    start: (setting) => startGateway(setting, 'supergateway', supergatewayOptions(setting, 'none')),
  },
  {
    name: 'mcp-proxy',
    title: 'mcp-proxy, no token',
    start: (setting) =>
      startGateway(setting, 'mcp-proxy', (port) => [
        '--server',
        'stream',
        '--host',
        '127.0.0.1',
        '--port',
        `${port}`,
        '--',
        ...serverCommand(setting),
      ]),
  },
  {
    name: 'portcullis-apart',
    title: 'portcullis, token and rule, servers on the other core',
    apart: true,
    start: (setting) => startPortcullis(setting),
  },
  {
    name: 'portcullis-http',
    title: 'portcullis, token and rule, a server over HTTP on the other core',
    apart: true,
    start: (setting) => startBeforeHttp(setting, '/one', 'echo'),
  },
  {
    name: 'portcullis-federation',
    title: 'portcullis, token and rule, ten servers over HTTP with 300 tools on the other core',
    apart: true,
    start: (setting) => startBeforeHttp(setting, '/ten', 't7_echo'),
  },
  {
    name: 'supergateway-apart',
    title: 'supergateway as it comes, servers on the other core',
    apart: true,
    start: (setting) => startGateway(setting, 'supergateway', supergatewayOptions(setting, 'info')),
  },
];

/** The gateway before servers over HTTP, which share one process on the core of the load generator. */
async function startBeforeHttp(setting: McpSetting, path: string, tool: string): Promise<RunningGateway> {
  const [port, statsPort, serverPort] = (await freePorts(3)) as [number, number, number];
  const server = startPinned(
    setting.serverCore,
    [process.execPath, httpServer, `${serverPort}`],
    `${setting.directory}/echo-http.log`,
    {},
  );
  await waitForPort(serverPort, server);
  const program = startPinned(
    setting.gatewayCore,
    [process.execPath, launcher, '-f', httpConfiguration],
    `${setting.directory}/portcullis-http.log`,
    {
      PORT: `${port}`,
      STATS_PORT: `${statsPort}`,
      SERVER_PORT: `${serverPort}`,
      ISSUER: setting.issuer.issuer,
      JWKS_URL: setting.issuer.jwksUrl,
      WORKER_THREADS: '1',
    },
  );
  await waitForPort(port, program);
  const target = { url: `http://127.0.0.1:${port}${path}`, token: setting.token, tool };
  return { target, program, beside: [server] };
}

const supergatewayOptions = (setting: McpSetting, logLevel: string) => (port: number) => [
  '--stdio',
  serverCommand(setting).join(' '),
  '--outputTransport',
  'streamableHttp',
  '--stateful',
  '--logLevel',
  logLevel,
  '--port',
  `${port}`,
];

async function startGateway(
  setting: McpSetting,
  program: 'supergateway' | 'mcp-proxy',
  options: (port: number) => string[],
): Promise<RunningGateway> {
  const [port] = (await freePorts(1)) as [number];
  const gateway = startPinned(
    setting.gatewayCore,
    [process.execPath, programs[program], ...options(port)],
    `${setting.directory}/${program}.log`,
    { NODE_ENV: 'production' },
  );
  await waitForPort(port, gateway);
  return { target: { url: `http://127.0.0.1:${port}/mcp` }, program: gateway };
}

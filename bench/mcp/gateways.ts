import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/loopback.ts';
import type { TestIssuer } from '../../test/support/issuer.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';
import { programs } from '../tools.ts';
import { httpConfiguration, type HttpEndpoint } from './httpConfiguration.ts';

export interface McpSetting {
  readonly directory: string;
  readonly issuer: TestIssuer;
  readonly token: string;
  readonly gatewayCore: number;
  readonly serverCore: number;
  /** Options of Node for portcullis, which the profiler sets. */
  readonly nodeOptions?: readonly string[];
}

/** A gateway with its servers. */
export interface RunningGateway {
  readonly url: string;
  readonly token?: string;
  readonly program: Pinned;
  /** Programs that end with it. */
  readonly beside: readonly Pinned[];
}

export const echoServer = fileURLToPath(new URL('echo-server.mjs', import.meta.url));
const launcher = fileURLToPath(new URL('../../bin/portcullis', import.meta.url));
const configuration = fileURLToPath(new URL('portcullis.yaml', import.meta.url));
const httpServer = fileURLToPath(new URL('echo-http-server.mjs', import.meta.url));

export const serverCommand = (setting: McpSetting) => [
  'taskset',
  '-c',
  `${setting.serverCore}`,
  process.execPath,
  echoServer,
];

/** Portcullis in front of a server over stdio. @param path `/shared`: one server for all sessions, as mcp-proxy has it */
export async function startBeforeStdio(
  setting: McpSetting,
  path: '/mcp' | '/shared' = '/mcp',
): Promise<RunningGateway> {
  const [port, statsPort] = (await freePorts(2)) as [number, number];
  const program = startPinned(
    setting.gatewayCore,
    [process.execPath, ...(setting.nodeOptions ?? []), launcher, '-f', configuration],
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
  return { url: `http://127.0.0.1:${port}${path}`, token: setting.token, program, beside: [] };
}

/** Portcullis in front of servers over HTTP, which share one process. @param audited keeps an audit stream with a chain */
export async function startBeforeHttp(
  setting: McpSetting,
  path: HttpEndpoint,
  audited = false,
): Promise<RunningGateway> {
  const [port, statsPort, serverPort] = (await freePorts(3)) as [number, number, number];
  const server = startPinned(
    setting.serverCore,
    [process.execPath, httpServer, `${serverPort}`],
    `${setting.directory}/echo-http.log`,
    {},
  );
  await waitForPort(serverPort, server);
  const file = `${setting.directory}/portcullis-${port}.json`;
  const audit = {
    path: `${setting.directory}/audit-${port}.jsonl`,
    keyFile: `${setting.directory}/audit-key`,
  };
  if (audited) writeFileSync(audit.keyFile, 'a key of the benchmark, and of nothing else');
  const ports = { port, statsPort, serverPort };
  const configuration = httpConfiguration(ports, setting.issuer, audited ? audit : undefined);
  writeFileSync(file, JSON.stringify(configuration));
  const program = startPinned(
    setting.gatewayCore,
    [process.execPath, ...(setting.nodeOptions ?? []), launcher, '-f', file],
    `${setting.directory}/portcullis-http.log`,
    { WORKER_THREADS: '1' },
  );
  await waitForPort(port, program);
  return { url: `http://127.0.0.1:${port}${path}`, token: setting.token, program, beside: [server] };
}

/** @param logLevel `info` is how it comes */
export const startSupergateway = (setting: McpSetting, logLevel: 'info' | 'none'): Promise<RunningGateway> =>
  startPeer(setting, 'supergateway', (port) => [
    '--stdio',
    serverCommand(setting).join(' '),
    '--outputTransport',
    'streamableHttp',
    '--stateful',
    '--logLevel',
    logLevel,
    '--port',
    `${port}`,
  ]);

export const startMcpProxy = (setting: McpSetting): Promise<RunningGateway> =>
  startPeer(setting, 'mcp-proxy', (port) => [
    '--server',
    'stream',
    '--host',
    '127.0.0.1',
    '--port',
    `${port}`,
    '--',
    ...serverCommand(setting),
  ]);

async function startPeer(
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
  return { url: `http://127.0.0.1:${port}/mcp`, program: gateway, beside: [] };
}

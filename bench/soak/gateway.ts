import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/loopback.ts';
import type { Setting } from '../http/setting.ts';
import { echoServer } from '../mcp/gateways.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';

/** A gateway that serves HTTP, TLS and MCP, and whose configuration can be changed under it. */
export interface SoakGateway {
  readonly port: number;
  readonly tlsPort: number;
  readonly mcpPort: number;
  readonly statsPort: number;
  readonly program: Pinned;
  /** Writes a configuration with so many further routes and renames it over the one in use. */
  reload(routes: number): void;
  /** Lines of its log that speak of a defect or a refused configuration. */
  errors(): readonly string[];
}

const launcher = fileURLToPath(new URL('../../bin/portcullis', import.meta.url));

export async function startGateway(setting: Setting): Promise<SoakGateway> {
  const [port, tlsPort, mcpPort, statsPort] = (await freePorts(4)) as [number, number, number, number];
  const { directory } = setting;
  const file = `${directory}/soak.json`;
  const write = (path: string, routes: number) =>
    writeFileSync(
      path,
      JSON.stringify(configuration(setting, { port, tlsPort, mcpPort, statsPort }, routes)),
    );
  write(file, 0);
  const logFile = `${directory}/soak.log`;
  const program = startPinned(
    setting.cores[0],
    // Ten minutes of access log are some gigabytes: it is written, and forgotten. The log proper is kept.
    ['sh', '-c', 'exec "$@" >/dev/null', 'sh', process.execPath, launcher, '-f', file],
    logFile,
    { WORKER_THREADS: '1' },
  );
  await waitForPort(port, program);
  return {
    port,
    tlsPort,
    mcpPort,
    statsPort,
    program,
    reload: (routes) => {
      write(`${file}.new`, routes);
      renameSync(`${file}.new`, file);
    },
    errors: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => / error /i.test(line)),
  };
}

/** JSON is YAML. */
function configuration(
  { backendPort, directory, cores, issuer }: Setting,
  ports: Pick<SoakGateway, 'port' | 'tlsPort' | 'mcpPort' | 'statsPort'>,
  routes: number,
) {
  const backends = [{ host: `127.0.0.1:${backendPort}` }];
  const all = [
    ...Array.from({ length: routes }, (_, n) => ({
      matches: [{ path: { pathPrefix: `/r${n}` } }],
      backends,
    })),
    { matches: [{ path: { pathPrefix: '/v2' } }], backends },
  ];
  const identity = `${directory}/identity.pem`;
  return {
    config: { adminAddr: 'off', readinessAddr: 'off', statsAddr: `127.0.0.1:${ports.statsPort}` },
    binds: [
      { port: ports.port, listeners: [{ routes: all }] },
      { port: ports.tlsPort, listeners: [{ tls: { cert: identity, key: identity }, routes: all }] },
      {
        port: ports.mcpPort,
        listeners: [
          {
            routes: [
              {
                policies: {
                  mcpAuthentication: {
                    mode: 'strict',
                    issuer: issuer.issuer,
                    audiences: ['api://bench'],
                    jwks: { url: issuer.jwksUrl },
                  },
                },
                backends: [
                  {
                    mcp: {
                      targets: [
                        {
                          name: 'echo',
                          stdio: {
                            cmd: 'taskset',
                            args: ['-c', `${cores[0]}`, process.execPath, echoServer],
                          },
                        },
                      ],
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  };
}

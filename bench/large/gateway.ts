import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../test/support/loopback.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';

export interface LargeGateway {
  readonly port: number;
  readonly program: Pinned;
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL('../../bin/portcullis', import.meta.url));
const server = fileURLToPath(new URL('server.mjs', import.meta.url));

/** A gateway of one process before the large server, and the server over HTTP, on a core of its own. */
export async function startGateway(
  directory: string,
  [gatewayCore, serverCore]: readonly [number, number],
): Promise<LargeGateway> {
  const [port, serverPort] = (await freePorts(2)) as [number, number];
  const behind = startPinned(
    serverCore,
    [process.execPath, server, `${serverPort}`],
    `${directory}/server.log`,
  );
  await waitForPort(serverPort, behind);
  const file = `${directory}/large.json`;
  writeFileSync(file, JSON.stringify(configuration(port, serverPort, serverCore)));
  const command = ['sh', '-c', 'exec "$@" >/dev/null', 'sh', process.execPath, launcher, '-f', file];
  const program = startPinned(gatewayCore, command, `${directory}/gateway.log`, { WORKER_THREADS: '1' });
  await waitForPort(port, program);
  return {
    port,
    program,
    stop: async () => {
      await program.stop();
      await behind.stop();
    },
  };
}

/** JSON is YAML. */
function configuration(port: number, serverPort: number, core: number) {
  const child = { stdio: { cmd: 'taskset', args: ['-c', `${core}`, process.execPath, server] } };
  const remote = (path: string) => ({ mcp: { host: `http://127.0.0.1:${serverPort}${path}` } });
  const route = (path: string, targets: readonly object[], policies: object = {}) => ({
    matches: [{ path: { exact: path } }],
    policies,
    backends: [{ mcp: { targets } }],
  });
  const rule = { mcpAuthorization: { rules: ['mcp.tool.name != "none"'] } };
  return {
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
    binds: [
      {
        port,
        listeners: [
          {
            routes: [
              route('/stdio', [{ name: 'large', ...child }]),
              route('/ruled', [{ name: 'large', ...child }], rule),
              route('/json', [{ name: 'large', ...remote('/json') }]),
              route('/sse', [{ name: 'large', ...remote('/sse') }]),
              route('/federated', [
                { name: 'first', ...child },
                { name: 'second', ...child },
              ]),
            ],
          },
        ],
      },
    ],
  };
}

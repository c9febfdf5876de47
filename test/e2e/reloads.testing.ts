import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { askSecurely } from './http.testing.ts';
import { repeat, startLoad, type Load } from './load.testing.ts';
import { openDescriptors, residentBytes, threadsOf } from './processes.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { inline, node, rogue, rogueBackends, startEchoApp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

export interface ReloadsOptions {
  readonly workers: number;
  /** Counted after those that warm the process up. */
  readonly reloads: number;
  readonly warmUp: number;
  /** Hears of every hundredth. */
  readonly onProgress?: (done: number) => void;
}

/** The resources that all processes of a gateway hold together. */
export interface Holdings {
  readonly processes: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly residentBytes: number;
}

export interface ReloadsReport {
  /** Requests that were answered as they should be, on connections that stay, on new ones, and under TLS. */
  readonly served: number;
  /** The failures, a line each. */
  readonly failures: readonly string[];
  readonly before: Holdings;
  readonly after: Holdings;
  /** Milliseconds from the change of the file to the configuration in use. */
  readonly medianMs: number;
  /** With one process: the MCP session, its child and its event stream were the same at the end as at the beginning. */
  readonly sessionKept: boolean;
  /** Sessions with several targets kept the servers that no reload touched. */
  readonly federationKept: boolean;
}

function holdings(gateway: GatewayProcess): Holdings {
  const pids = [gateway.pid, ...gateway.children().map(({ pid }) => pid)];
  const sum = (of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0);
  return {
    processes: pids.length,
    descriptors: sum(openDescriptors),
    threads: sum(threadsOf),
    residentBytes: sum(residentBytes),
  };
}

interface Stage {
  readonly workers: number;
  readonly ports: readonly [main: number, secure: number, extra: number];
  readonly folder: string;
  readonly echo: number;
}

/** Another configuration for each generation; what the load asks for is in all of them. */
function configuration(
  { workers, ports: [main, secure, extra], folder, echo }: Stage,
  generation: number,
): string {
  const fixed = (name: string, body: string): string =>
    `{ name: ${name}, matches: [{ path: { exact: /${name} } }], policies: { directResponse: { status: 200, body: "${body}" } } }`;
  // A third target comes and goes; sessions keep their servers of the other two.
  const federated = ['one', 'two', ...(generation % 2 === 0 ? [] : ['three'])].map((name) => ({
    name,
    stdio: { cmd: node, args: [rogue] },
  }));
  const policies = {
    jwtAuth: {
      mode: 'strict',
      issuer: `https://issuer-${generation}.test`,
      jwks: { file: join(folder, 'keys.json') },
    },
    localRateLimit: [{ maxTokens: 1 + (generation % 9), tokensPerFill: 1, fillInterval: '1s' }],
    timeout: { requestTimeout: `${1 + (generation % 9)}s` },
  };
  return `
config: { workers: ${workers}, limits: { maxHeadBytes: ${65_536 + (generation % 5)} } }
binds:
- port: ${main}
  listeners:
  - routes:
    - ${fixed('generation', String(generation))}
    ${Array.from({ length: 20 }, (_, i) => `- ${fixed(`path-${generation}-${i}`, 'x')}`).join('\n    ')}
    - name: guarded
      matches: [{ path: { pathPrefix: /guarded } }]
      policies: ${inline(policies)}
      backends: [{ host: '127.0.0.1:${echo}' }]
    - name: checked
      matches: [{ path: { pathPrefix: /checked } }]
      backends: [{ host: 'localhost:${echo}', policies: { health: { check: { path: /get, interval: ${1 + (generation % 3)}s } } } }]
    - name: mcp
      matches: [{ path: { pathPrefix: /mcp } }]
      backends: ${rogueBackends}
    - name: federated
      matches: [{ path: { pathPrefix: /federated } }]
      backends: ${inline([{ mcp: { failureMode: 'failOpen', targets: federated } }])}
    - { name: echo, backends: [{ host: '127.0.0.1:${echo}' }] }
- port: ${secure}
  listeners:
  - protocol: HTTPS
    tls: { cert: ${join(folder, 'app.pem')}, key: ${join(folder, 'app.key')} }
    routes:
    - ${fixed('generation', String(generation))}
    - { name: echo, backends: [{ host: '127.0.0.1:${echo}' }] }
${generation % 2 === 0 ? '' : `- port: ${extra}\n  listeners: [{ routes: [${fixed('extra', 'extra')}] }]`}
`;
}

/** Sessions with several targets, each with a loop of calls of its own. */
interface FederatedLoad extends Load {
  /** Every call was answered by the process that answered the first one. */
  readonly sameServers: boolean;
}

async function startFederatedLoad(url: string, sessions: number): Promise<FederatedLoad> {
  let sameServers = true;
  const loads: { readonly load: Load; close(): Promise<void> }[] = [];
  for (let i = 0; i < sessions; i++) {
    const session = await openSession(url);
    const call = async (name: string): Promise<string> => {
      const answer = await session.call(name);
      const text = resultText(answer);
      if (answer.error !== undefined || !/^\d+$/.test(text)) throw new Error(`${name}: ${inline(answer)}`);
      return text;
    };
    const first = [await call('one_pid'), await call('two_pid')];
    const load = repeat(1, async () => {
      const now = [await call('one_pid'), await call('two_pid')];
      sameServers &&= now.join() === first.join();
    });
    loads.push({ load, close: () => session.close() });
  }
  return {
    get served() {
      return loads.reduce((sum, { load }) => sum + load.served, 0);
    },
    get failures() {
      return loads.flatMap(({ load }) => load.failures.map((failure) => `federated: ${failure}`));
    },
    get sameServers() {
      return sameServers;
    },
    async stop() {
      for (const { load, close } of loads) {
        await load.stop();
        await close();
      }
    },
  };
}

/** The clients that must not notice anything, until they are stopped. */
async function startLoads(url: string, securePort: number, ca: string): Promise<FederatedLoad> {
  const isEcho = (status: number, body: string): boolean => status === 200 && body.includes('"url"');
  const plain = [startLoad(`${url}/get`, 4, isEcho), startLoad(`${url}/get`, 1, isEcho, false)];
  const secure = repeat(1, async () => {
    const { status, body } = await askSecurely(securePort, 'app.test', { path: '/get', ca });
    if (status !== 200) throw new Error(`${status} ${body.slice(0, 200)}`);
  });
  const federated = await startFederatedLoad(`${url}/federated`, 2);
  return {
    get served() {
      return plain.reduce((sum, { served }) => sum + served, secure.served + federated.served);
    },
    get sameServers() {
      return federated.sameServers;
    },
    get failures() {
      return [
        ...federated.failures,
        ...plain.flatMap(({ failures }) => failures),
        ...secure.failures.map((failure) => `TLS: ${failure}`),
      ];
    },
    async stop() {
      for (const load of [...plain, secure, federated]) await load.stop();
    },
  };
}

/** A session with a stream that is listened to, and a child that must stay the same. */
async function hold(url: string) {
  const session = await openSession(url);
  const pid = async (): Promise<string> => resultText(await session.call('pid'));
  const first = await pid();
  let ended = false;
  const stream = await session.send('GET');
  const listened = stream.text().finally(() => (ended = true));
  return {
    isKept: async (): Promise<boolean> => !ended && (await pid()) === first,
    async close() {
      await session.close();
      await listened;
    },
  };
}

/** Changes the file of a gateway again and again while it is used in every way, and looks at what stays. */
export async function reloadUnderLoad(options: ReloadsOptions): Promise<ReloadsReport> {
  const { workers, warmUp, reloads, onProgress } = options;
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-reloads-'));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const ca = authority();
  const { cert, key } = ca.issue({ names: ['app.test'] });
  writeFileSync(join(folder, 'app.pem'), cert);
  writeFileSync(join(folder, 'app.key'), key);
  writeFileSync(join(folder, 'keys.json'), '{"keys":[]}');
  const echo = stack.use(await startEchoApp());
  const ports = (await freePorts(3)) as [number, number, number];
  const stage: Stage = { workers, ports, folder, echo: echo.port };
  let generation = 0;
  const gateway = stack.use(await startGateway(configuration(stage, generation)));
  // With several workers only one knows the session, and nothing makes fetch keep to one connection.
  const held = workers === 1 ? await hold(`${gateway.url}/mcp`) : undefined;

  const times: number[] = [];
  const taken = (): number => gateway.log().split('Configuration loaded').length - 1;
  /** So many reloads under load; at rest again afterwards. */
  const run = async (count: number, hear?: (done: number) => void): Promise<FederatedLoad> => {
    const load = await startLoads(gateway.url, ports[1], ca.cert);
    for (let i = 1; i <= count && load.failures.length === 0; i++) {
      const before = taken();
      const begun = performance.now();
      gateway.rewrite(configuration(stage, ++generation));
      await until('the configuration to be taken', () => taken() > before);
      times.push(performance.now() - begun);
      if (i % 100 === 0) hear?.(i);
    }
    await load.stop();
    return load;
  };
  // Both end with the same kind of configuration: every other one has a port more.
  const warm = await run(2 * Math.ceil(warmUp / 2));
  const before = await settled(gateway);
  times.length = 0;
  const load = await run(2 * Math.ceil(reloads / 2), onProgress);
  const sessionKept = (await held?.isKept()) ?? true;
  const after = await settled(gateway, before);
  await held?.close();
  return {
    served: load.served,
    failures: [...warm.failures, ...load.failures],
    before,
    after,
    medianMs: times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0,
    sessionKept,
    federationKept: warm.sameServers && load.sameServers,
  };
}

async function openToBackends(gateway: GatewayProcess): Promise<number> {
  const series = (await gateway.metrics()).matchAll(/^portcullis_upstream_connections\{.*\} (\d+)$/gm);
  return [...series].reduce((sum, [, value]) => sum + Number(value), 0);
}

/**
 * Idle connections go one after the other, the last ones of the backend after five seconds.
 * @param most what has to be reached
 */
async function settled(gateway: GatewayProcess, most?: Holdings): Promise<Holdings> {
  let last = holdings(gateway);
  const atRest = async (): Promise<boolean> => {
    const { binds } = await gateway.configDump();
    last = holdings(gateway);
    const idle = binds.every(({ connections }) => connections <= 2);
    if (most !== undefined) return idle && last.descriptors <= most.descriptors;
    return idle && (await openToBackends(gateway)) === 0;
  };
  await until('what is held to come to rest', atRest, 30_000).catch(() => undefined);
  return last;
}

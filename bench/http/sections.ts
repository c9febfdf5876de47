import { loadWithH2load } from './h2load.ts';
import { loadWithHandshakes } from './handshakes.ts';
import type { Load, LoadResult } from './load.ts';
import type { Options, ProxyName, Running } from './proxies.ts';
import { everyRoute, oneMegabyte, post, small, tenKilobytes, type Workload } from './workloads.ts';
import { loadWithWrk } from './wrk.ts';

/** A way of asking a proxy: a row of a table. */
export interface Row {
  /** For the command line, the log and the targets; unique within its table. */
  readonly name: string;
  readonly title: string;
  readonly proxy: ProxyName;
  /** Rows with the same proxy and options share a process. */
  readonly options: Options;
  /** URL and token to use. */
  readonly door: (running: Running, token: string) => { readonly url: string; readonly token?: string };
}

/** A workload for several proxies. */
export interface Table {
  readonly section: SectionName;
  /** Unique; with a row's name it names a cell, such as `get/portcullis`. */
  readonly name: string;
  readonly title: string;
  readonly workload: Workload;
  readonly rows: readonly Row[];
  readonly load: (load: Load) => Promise<LoadResult>;
  readonly unit: 'request' | 'connection';
  /** A note for readers. */
  readonly note?: string;
}

export type SectionName = 'logged' | 'silent' | 'routes' | 'traces' | 'tls' | 'h2' | 'handshakes';

const titles = {
  direct: 'no proxy',
  portcullis: 'portcullis',
  haproxy: 'haproxy, 1 thread',
  nginx: 'nginx, 1 worker',
  envoy: 'Envoy, concurrency 1',
} as const satisfies Record<ProxyName, string>;

const all = ['portcullis', 'haproxy', 'nginx', 'envoy'] as const;

const loopback = (scheme: string, port: number | undefined) => `${scheme}://127.0.0.1:${port}`;

const plain = (proxy: ProxyName, options: Options): Row => ({
  name: proxy,
  title: titles[proxy],
  proxy,
  options,
  door: ({ port }) => ({ url: loopback('http', port) }),
});

const overTls = (proxy: ProxyName, options: Options): Row => ({
  ...plain(proxy, options),
  door: ({ tlsPort }) => ({ url: loopback('https', tlsPort) }),
});

const withToken = (options: Options): Row => ({
  ...plain('portcullis', options),
  name: 'portcullis-token',
  title: 'portcullis, token checked',
  door: ({ tokenPort }, token) => ({ url: loopback('http', tokenPort), token }),
});

const withRule = (options: Options): Row => ({
  ...plain('portcullis', options),
  name: 'portcullis-rule',
  title: 'portcullis, token checked and a rule asked',
  door: ({ rulePort }, token) => ({ url: loopback('http', rulePort), token }),
});

const tightEnvoy = (options: Options): Row => ({
  ...plain('envoy', { ...options, tight: true }),
  name: 'envoy-tight',
  title: 'Envoy with buffers of 32 KiB, as its guide for edges has them',
});

const withRoutes = (routes: number): Row => ({
  ...plain('portcullis', { log: true, routes }),
  name: `portcullis-${routes}`,
  title: `portcullis, ${routes} ${routes === 1 ? 'route' : 'routes'} more`,
});

const withTraces = (traced: number): Row => ({
  ...plain('portcullis', { log: true, traced }),
  name: `portcullis-traced-${String(traced)}`,
  title: `portcullis, spans of ${String(traced * 100)} % of the requests exported`,
});

const log: Options = { log: true };
const silent: Options = {};

const table = (
  section: SectionName,
  name: string,
  title: string,
  workload: Workload,
  rows: readonly Row[],
  load: Table['load'] = loadWithWrk,
): Table => ({
  section,
  name,
  title,
  workload,
  rows,
  load,
  unit: section === 'handshakes' ? 'connection' : 'request',
});

const direct = plain('direct', silent);

/** Everything that is measured over HTTP, in the order of the report. */
export const tables: readonly Table[] = [
  table('logged', 'get', small.title, small, [
    direct,
    ...all.map((proxy) => plain(proxy, log)),
    withToken(log),
    withRule(log),
  ]),
  table(
    'logged',
    'post',
    post.title,
    post,
    all.map((proxy) => plain(proxy, log)),
  ),
  table(
    'logged',
    '10k',
    tenKilobytes.title,
    tenKilobytes,
    all.map((proxy) => plain(proxy, log)),
  ),
  table('logged', '1m', oneMegabyte.title, oneMegabyte, [
    direct,
    ...all.map((proxy) => plain(proxy, log)),
    tightEnvoy(log),
  ]),
  table('silent', 'get-silent', `${small.title}, no access log`, small, [
    ...all.map((proxy) => plain(proxy, silent)),
    withToken(silent),
  ]),
  table(
    'silent',
    '10k-silent',
    `${tenKilobytes.title}, no access log`,
    tenKilobytes,
    all.map((proxy) => plain(proxy, silent)),
  ),
  table(
    'silent',
    '1m-silent',
    `${oneMegabyte.title}, no access log`,
    oneMegabyte,
    all.map((proxy) => plain(proxy, silent)),
  ),
  table('routes', 'routes', everyRoute.title, everyRoute, [1, 100, 10_000].map(withRoutes)),
  table('traces', 'traces', small.title, small, [plain('portcullis', log), withTraces(0.01)]),
  table(
    'tls',
    'tls',
    `${small.title}, HTTP/1.1 over TLS`,
    small,
    all.map((proxy) => overTls(proxy, log)),
  ),
  table(
    'h2',
    'h2',
    `${small.title}, HTTP/2 over TLS`,
    small,
    all.map((proxy) => overTls(proxy, log)),
    loadWithH2load,
  ),
  table(
    'handshakes',
    'new',
    'A new TLS connection with a whole handshake for each request',
    small,
    all.map((proxy) => overTls(proxy, log)),
    loadWithHandshakes(false),
  ),
  table(
    'handshakes',
    'resumed',
    'A new TLS connection with a resumed handshake for each request',
    small,
    all.map((proxy) => overTls(proxy, log)),
    loadWithHandshakes(true),
  ),
];

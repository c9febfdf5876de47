import { parser } from '@prometheus-io/lezer-promql';
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from '../e2e/gateway.testing.ts';
import { ask } from '../e2e/http.testing.ts';
import { openSession } from '../e2e/session.testing.ts';
import { inline } from '../e2e/stage.testing.ts';
import { controllerMetrics } from './controlPlane.testing.ts';

const root = new URL('../../', import.meta.url).pathname;
const folder = join(root, 'deploy/dashboards');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

interface Dashboard {
  readonly uid: string;
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}
interface Rules {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

type Expressions = readonly (readonly [place: string, expression: string])[];

/** The expressions of a dashboard, by their panel. */
const dashboard = (name: string): Expressions =>
  (JSON.parse(read(name)) as Dashboard).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [`${name}: ${title}`, expr] as const),
  );

/** The expressions of a group of alerts, by their alert. */
const alerts = (group: string): Expressions =>
  (parse(read('alerts.yaml')) as Rules).groups
    .filter(({ name }) => name === group)
    .flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const));

/** Labels that Prometheus adds. */
const added = ['job', 'instance', 'le'];

interface Query {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

/** @throws Error for text that is no PromQL */
function queryOf(written: string): Query {
  const text = written.replaceAll('$__rate_interval', '5m');
  const metrics: string[] = [];
  const labels: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      const part = text.slice(from, to);
      if (type.isError) throw new Error(`no PromQL at ${String(from)}: ${text}`);
      if (type.name === 'Identifier' && node.parent?.type.name === 'VectorSelector') metrics.push(part);
      if (type.name === 'LabelName') labels.push(part);
    },
  });
  return { metrics, labels: labels.filter((label) => !added.includes(label)) };
}

/** Labels of the samples of each metric, from the text that Prometheus reads. */
function metricsIn(text: string): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      known.set(name + suffix, new Set());
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z_0-9]+)\{(.*)\} \S+$/gm))
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.get(name)?.add(label);
  return known;
}

const sources = globSync('src/**/*.ts', { cwd: root })
  .filter((file) => !/\.(?:test|testing)\.ts$/.test(file))
  .map((file) => readFileSync(join(root, file), 'utf8'));

/** A metric without samples, such as one of overload, has the labels that the source gives it. */
function hasLabel(seen: ReadonlySet<string> | undefined, metric: string, label: string): boolean {
  if (seen !== undefined && seen.size > 0) return seen.has(label);
  const name = `'${metric.replace(/^portcullis_/, '')}'`;
  return sources.some((text) => {
    const at = text.indexOf(name);
    const after = at < 0 ? '' : text.slice(at, at + 600);
    const [, labels = ''] = /(?:\[|label: )((?:\s*'\w+',?)+)/.exec(after) ?? [];
    return labels.includes(`'${label}'`);
  });
}

/** Compares expressions with the metrics of a process, as Prometheus reads them. */
function compare(expressions: Expressions, exposed: string): void {
  const known = metricsIn(exposed);
  for (const [place, expression] of expressions) {
    const { metrics, labels } = queryOf(expression);
    assert.ok(metrics.length > 0, place);
    for (const metric of metrics) assert.ok(known.has(metric), `${place}: there is no metric ${metric}`);
    for (const metric of metrics)
      for (const label of labels)
        assert.ok(hasLabel(known.get(metric), metric, label), `${place}: ${metric} has no label ${label}`);
  }
}

test('text that is no PromQL is found', () => {
  assert.throws(() => queryOf('sum by (a (rate(b[5m]))'), /no PromQL/);
  assert.deepEqual(queryOf('sum by (a, le) (rate(b{c="d"}[$__rate_interval]))'), {
    metrics: ['b'],
    labels: ['a', 'c'],
  });
});

let remote: RemoteServer;
before(async () => {
  remote = await RemoteServer.start();
});
after(async () => {
  await remote?.close();
});

test('the dashboards and the alerts of a gateway name only its metrics and labels', async () => {
  const dead = { otlpEndpoint: 'http://127.0.0.1:1', otlpProtocol: 'http' };
  const hidden = { authorization: { rules: ['jwt.sub == "nobody"'] } };
  await using gateway = await startGateway(
    inline({
      config: {
        logging: { otlp: dead },
        tracing: { ...dead, randomSampling: true },
        audit: { sink: 'stdout' },
      },
      binds: [
        {
          port: 0,
          listeners: [
            {
              routes: [
                {
                  matches: [{ path: { pathPrefix: '/mcp' } }],
                  backends: [
                    {
                      mcp: {
                        targets: [{ name: 'far', mcp: { host: `http://127.0.0.1:${remote.port}/mcp` } }],
                      },
                    },
                  ],
                },
                {
                  matches: [{ path: { exact: '/closed' } }],
                  policies: hidden,
                  backends: [{ host: '127.0.0.1:1' }],
                },
                { backends: [{ host: '127.0.0.1:1' }] },
              ],
            },
          ],
        },
      ],
    }),
  );
  const session = await openSession(`${gateway.url}/mcp`);
  await session.request('tools/call', { name: 'echo', arguments: {} });
  await session.close();
  for (const path of ['/closed', '/down']) await ask(`${gateway.url}${path}`);
  await until('dropped spans and records', async () => {
    const dropped = await Promise.all(
      ['spans', 'log_records'].map((kind) =>
        gateway.metric(`portcullis_${kind}_dropped_total`, { reason: 'export' }),
      ),
    );
    return dropped.every((count = 0) => count > 0);
  });
  const expressions = [...dashboard('http.json'), ...dashboard('mcp.json'), ...alerts('portcullis')];
  assert.ok(expressions.length > 40);
  compare(expressions, await gateway.metrics());
});

test('the dashboard and the alerts of the controller name only its metrics and labels', async (t) => {
  const expressions = [...dashboard('controller.json'), ...alerts('portcullis-controller')];
  assert.ok(expressions.length > 20);
  compare(expressions, await controllerMetrics(t));
});

test('each dashboard and each group of alerts is compared', () => {
  assert.deepEqual(globSync('*.json', { cwd: folder }).toSorted(), [
    'controller.json',
    'http.json',
    'mcp.json',
  ]);
  const { groups } = parse(read('alerts.yaml')) as Rules;
  assert.deepEqual(
    groups.map(({ name }) => name),
    ['portcullis', 'portcullis-controller'],
  );
  const uids = globSync('*.json', { cwd: folder }).map((name) => (JSON.parse(read(name)) as Dashboard).uid);
  assert.equal(new Set(uids).size, uids.length);
});

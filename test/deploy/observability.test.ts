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

const root = new URL('../../', import.meta.url).pathname;
const read = (name: string): string => readFileSync(join(root, 'deploy/dashboards', name), 'utf8');

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}
interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

/** Every expression, by the panel or alert that has it. */
const expressions: readonly (readonly [place: string, expression: string])[] = [
  ...(JSON.parse(read('http.json')) as Dashboard).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [title, expr] as const),
  ),
  ...(parse(read('alerts.yaml')) as Rules).groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr }) => [alert, expr] as const),
  ),
];

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

test('the dashboard and the alerts name only metrics and labels of a live gateway', async () => {
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
  const known = metricsIn(await gateway.metrics());
  assert.ok(expressions.length > 40);
  for (const [place, expression] of expressions) {
    const { metrics, labels } = queryOf(expression);
    assert.ok(metrics.length > 0, place);
    for (const metric of metrics) assert.ok(known.has(metric), `${place}: there is no metric ${metric}`);
    for (const metric of metrics)
      for (const label of labels)
        assert.ok(hasLabel(known.get(metric), metric, label), `${place}: ${metric} has no label ${label}`);
  }
});

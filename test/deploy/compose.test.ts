/** The Compose file: its services name files and ports that exist, and its gateway serves with its configuration. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { parse } from 'yaml';
import { Program } from '../../src/cli/program.testing.ts';
import { RedisServer, withoutRedis } from '../../src/store/redisServer.testing.ts';
import { startDevIdp, type DevIdpConfig } from '../../apps/dev-idp/src/index.ts';
import { freePorts } from '../support/loopback.ts';
import { everything, node } from '../e2e/stage.testing.ts';

const folder = fileURLToPath(new URL('../../deploy/compose/', import.meta.url));
const read = (name: string): unknown => parse(readFileSync(join(folder, name), 'utf8'));

interface Service {
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: readonly string[];
}
const { services } = read('compose.yaml') as { readonly services: Readonly<Record<string, Service>> };

test('services name files, builds and services that exist, and open ports on this machine only', () => {
  const dockerfile = readFileSync(join(folder, '../Dockerfile'), 'utf8');
  for (const [name, { build, volumes = [], ports = [], depends_on: others = [] }] of Object.entries(
    services,
  )) {
    for (const volume of volumes) {
      const [source = '', , mode] = volume.split(':');
      assert.ok(statSync(join(folder, source)).isFile(), volume);
      assert.equal(mode, 'ro', volume);
    }
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name);
    for (const other of others) assert.ok(other in services, other);
    if (build === undefined) continue;
    assert.ok(statSync(join(folder, build.context, build.dockerfile)).isFile());
    assert.match(dockerfile, new RegExp(`^FROM runtime AS ${build.target}$`, 'm'));
  }
});

test('Prometheus reads the metrics of the gateway, and Grafana those of Prometheus', () => {
  const { config } = read('gateway.yaml') as { readonly config: Readonly<Record<string, string>> };
  const { scrape_configs: jobs, rule_files: rules } = read('prometheus.yaml') as {
    readonly scrape_configs: readonly {
      readonly static_configs: readonly { readonly targets: readonly string[] }[];
    }[];
    readonly rule_files: readonly string[];
  };
  const [, metricsPort = ''] = config['statsAddr']?.split(':') ?? [];
  assert.deepEqual(
    jobs.flatMap((job) => job.static_configs.flatMap(({ targets }) => targets)),
    [`gateway:${metricsPort}`],
  );
  const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.map((volume) => volume.split(':')[1]),
  );
  for (const rule of rules) assert.ok(mounted.includes(rule), rule);
  const { datasources } = read('grafana.yaml') as {
    readonly datasources: readonly { readonly url: string }[];
  };
  assert.deepEqual(
    datasources.map(({ url }) => new URL(url).hostname),
    ['prometheus'],
  );
  const { providers } = read('dashboards.yaml') as {
    readonly providers: readonly { readonly options: { readonly path: string } }[];
  };
  for (const { options } of providers)
    assert.ok(
      mounted.some((path) => path?.startsWith(`${options.path}/`)),
      options.path,
    );
});

test(
  'the gateway serves a tool to a client with a token of the authorization server',
  { skip: withoutRedis },
  async (t) => {
    const redis = await RedisServer.start();
    t.after(() => redis.close());
    const [port = 0, closed] = await freePorts(2);
    const idp = await startDevIdp({ config: read('idp.yaml') as DevIdpConfig, port });
    const keys = `http://127.0.0.1:${String(port)}`;
    t.after(() => idp.close());
    const gateway = new Program(['run', '-f', join(folder, 'gateway.yaml'), '--no-admin'], {
      env: {
        GATEWAY_PORT: '0',
        IDP: keys,
        REDIS_URL: `redis://127.0.0.1:${String(redis.port)}`,
        COLLECTOR: `http://127.0.0.1:${String(closed)}`,
        NODE: node,
        SERVER: everything,
      },
    });
    t.after(() => gateway.child.kill());
    const [, served = ''] = await gateway.saw(/"ports":"(\d+)".*"message":"ready"/);
    const form = {
      grant_type: 'client_credentials',
      client_id: 'demo',
      client_secret: 'demo-secret',
      scope: 'mcp',
    };
    const answer = await fetch(`${keys}/oauth2/default/v1/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    const { access_token: token } = (await answer.json()) as { readonly access_token: string };
    const client = new Client({ name: 'compose', version: '1.0.0' });
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${served}/mcp`), {
        requestInit: { headers },
      }),
    );
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
    assert.deepEqual(content, [{ type: 'text', text: 'Echo: hello' }]);
    await client.close();
    gateway.child.kill();
    assert.equal((await gateway.ended).code, 0);
  },
);

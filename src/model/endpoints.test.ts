import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults } from './defaults.ts';
import { joinEndpoints } from './endpoints.ts';
import type { HttpBackend, Listener, Model } from './model.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };
const base = { weight: 1, key: 'k', place, host: 'shop', port: 80 };
const http = (endpoints?: string): HttpBackend => ({
  kind: 'http',
  ...base,
  ...(endpoints === undefined ? {} : { endpoints }),
});
const invalid = { kind: 'invalid', weight: 1, key: 'none', place, problem: 'none' } as const;

const modelOf = (...listeners: Listener[]): Model => ({
  process: defaults,
  binds: [{ port: 80, listeners }],
});

test('every backend that names a list gets it, mirrors and streams included, and no other is touched', () => {
  const table = new Map([['a', [{ host: '10.0.0.1', port: 8080, zone: 'z' }]]]);
  const addresses = table.get('a') ?? [];
  const own = { ...http(), addresses: [{ host: '10.0.0.9', port: 1 }] };
  const model = modelOf(
    {
      name: 'web',
      protocol: 'HTTP',
      policies: [],
      routes: [
        {
          name: 'r',
          hostnames: [],
          matches: [],
          policies: [],
          backends: [{ ...http('a'), mirrors: [{ share: 1, backend: http('a') }] }, own, invalid],
          mirrors: [{ share: 0.5, backend: http('a') }],
          place,
        },
      ],
    },
    {
      name: 'tcp',
      protocol: 'TCP',
      tcpRoutes: [
        { name: 't', hostnames: [], backends: [{ ...base, kind: 'tcp', endpoints: 'a' }, invalid], place },
      ],
    },
    {
      name: 'udp',
      protocol: 'UDP',
      udpRoutes: [{ name: 'u', backends: [{ ...base, kind: 'udp', endpoints: 'a' }], place }],
    },
  );
  const before = JSON.stringify(model);
  const [web, tcp, udp] = joinEndpoints(model, table).binds[0]?.listeners ?? [];
  assert.ok(web && 'routes' in web && tcp && 'tcpRoutes' in tcp && udp && 'udpRoutes' in udp);
  const [route] = web.routes;
  const joined = { ...http('a'), addresses };
  assert.deepEqual(route?.backends, [{ ...joined, mirrors: [{ share: 1, backend: joined }] }, own, invalid]);
  assert.deepEqual(route?.mirrors, [{ share: 0.5, backend: joined }]);
  assert.deepEqual(tcp.tcpRoutes[0]?.backends, [
    { ...base, kind: 'tcp', endpoints: 'a', addresses },
    invalid,
  ]);
  assert.deepEqual(udp.udpRoutes[0]?.backends, [{ ...base, kind: 'udp', endpoints: 'a', addresses }]);
  assert.equal(JSON.stringify(model), before, 'the model itself stays as it was');
});

test('a list that is not there is empty', () => {
  const route = { name: 'r', hostnames: [], matches: [], policies: [], backends: [http('gone')], place };
  const joined = joinEndpoints(
    modelOf({ name: 'web', protocol: 'HTTP', policies: [], routes: [route] }),
    new Map(),
  );
  assert.deepEqual(joined.binds[0]?.listeners, [
    {
      name: 'web',
      protocol: 'HTTP',
      policies: [],
      routes: [{ ...route, backends: [{ ...http('gone'), addresses: [] }] }],
    },
  ]);
});

test('a target of an MCP backend that names a list gets it, and no other target is touched', () => {
  const remote = { kind: 'http', name: 'far', host: 'far', port: 80, path: '/mcp' } as const;
  const child = {
    kind: 'stdio',
    name: 'near',
    cmd: 'near',
    args: [],
    env: {},
    clearEnv: false,
    startTimeoutMs: 1,
  } as const;
  const model = modelOf({
    name: 'web',
    protocol: 'HTTP',
    policies: [],
    routes: [
      {
        name: 'r',
        hostnames: [],
        matches: [],
        policies: [],
        backends: [
          {
            kind: 'mcp',
            weight: 1,
            key: 'm',
            place,
            targets: [{ ...remote, endpoints: 'a' }, remote, child],
            prefixMode: 'conditional',
            dnsRebindingProtection: false,
          },
        ],
        place,
      },
    ],
  });
  const addresses = [{ host: '10.0.0.1', port: 8080 }];
  const [web] = joinEndpoints(model, new Map([['a', addresses]])).binds[0]?.listeners ?? [];
  assert.ok(web && 'routes' in web);
  const [backend] = web.routes[0]?.backends ?? [];
  assert.ok(backend?.kind === 'mcp');
  assert.deepEqual(backend.targets, [{ ...remote, endpoints: 'a', addresses }, remote, child]);
});

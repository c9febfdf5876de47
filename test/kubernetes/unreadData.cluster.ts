/** Secrets that the controller has not read, or cannot read, concern only the Gateways that need them. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../src/controller/api/apiError.ts';
import type { KubeApi } from '../../src/controller/api/api.ts';
import type { ControllerOptions } from '../../src/controller/controller.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { until } from '../../src/until.testing.ts';
import { clusterForSuite, gatewayClass, needsCluster } from './cluster.testing.ts';
import { crd, gatewayApi, ours } from './gatewayStage.testing.ts';
import { startLeader } from './leader.testing.ts';

const inNamespace = (namespace: string, kind: string, name: string, rest: object): string =>
  JSON.stringify({
    apiVersion: { Gateway: gatewayApi, HTTPRoute: gatewayApi, GatewayPolicy: ours }[kind] ?? 'v1',
    kind,
    metadata: { name, namespace },
    ...rest,
  });

const listeners = [
  { name: 'http', port: 80, protocol: 'HTTP' },
  { name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] } },
];

describe('data that is not read yet', needsCluster, () => {
  const stage = clusterForSuite();

  before(async () => {
    const { cluster } = stage;
    await cluster.installGatewayApi();
    for (const plural of ['portcullisparameters', 'mcpbackends', 'gatewaypolicies'])
      await cluster.apply(crd(plural));
    await cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
    for (const namespace of ['shop', 'tenant']) await cluster.kubectl(['create', 'namespace', namespace]);
    const { cert, key } = authority().issue({ names: ['a.example.test'] });
    await cluster.apply(
      [
        gatewayClass('ours'),
        inNamespace('shop', 'Secret', 'cert', {
          type: 'kubernetes.io/tls',
          stringData: { 'tls.crt': cert, 'tls.key': key },
        }),
        inNamespace('shop', 'Gateway', 'gw', { spec: { gatewayClassName: 'ours', listeners } }),
      ].join('\n---\n'),
    );
  });

  test('failed reads of a certificate at the start close no listener, however many they are', async (t) => {
    const connection = await stage.connect();
    let failures = 0;
    beforeReadOf(connection.api, 'cert', () => {
      if (failures === 3) return;
      failures++;
      throw new ApiError(429, 'TooManyRequests', 'too many requests');
    });
    const { published, onTranslation } = portsOfModels();
    await startLeader(t, connection, { onTranslation, dataPace: { waitMs: 1, startMs: 300_000 } });
    await until('the Gateway has its listeners', () => published.includes('80,443'));
    assert.equal(failures, 3);
    assert.deepEqual([...new Set(published)], ['none', '80,443']);
  });

  test('reads that take long at the start close no listener', async (t) => {
    const connection = await stage.connect();
    const asked = Promise.withResolvers<void>();
    const slow = Promise.withResolvers<void>();
    beforeReadOf(connection.api, 'cert', async () => {
      asked.resolve();
      await slow.promise;
    });
    const { published, onTranslation } = portsOfModels();
    let translations = 0;
    const starting = startLeader(t, connection, {
      onTranslation,
      dataPace: { waitMs: 1, startMs: 1 },
      // Asked before each translation.
      troubles: () => {
        translations++;
        return new Map();
      },
    });
    await asked.promise;
    const before = translations;
    await stage.cluster.apply(
      inNamespace('shop', 'Gateway', 'other', { spec: { gatewayClassName: 'ours', listeners } }),
    );
    await until('the controller has translated again', () => translations > before);
    assert.deepEqual(published, []);
    slow.resolve();
    await starting;
    assert.deepEqual([...new Set(published)], ['80,443']);
  });

  test('a tenant whose policy always names other Secrets does not stop the others', async (t) => {
    const connection = await stage.connect();
    const { cluster } = stage;
    const secrets = Array.from({ length: 120 }, (_, index) => `key-${String(index)}`);
    await cluster.apply(
      secrets
        .map((name) =>
          inNamespace('tenant', 'Secret', name, { stringData: { 'api-key': `the-secret-of-${name}` } }),
        )
        .join('\n---\n'),
    );
    const policies = (names: readonly string[]): object => ({
      spec: { policies: { apiKey: { keys: names.map((secret) => ({ secret })) } } },
    });
    await cluster.apply(inNamespace('tenant', 'GatewayPolicy', 'restless', policies(secrets.slice(0, 1))));
    const { controller } = await startLeader(t, connection);
    await until('the Gateway has a model', () => controller.translation?.models.has('shop/gw'));

    const ended = new AbortController();
    const restless = (async () => {
      for (let at = 0; !ended.signal.aborted; at = (at + 4) % secrets.length) {
        await connection.api.request({
          method: 'PATCH',
          path: `/apis/${ours}/namespaces/tenant/gatewaypolicies/restless`,
          contentType: 'application/merge-patch+json',
          body: policies(secrets.slice(at, at + 4)),
        });
        await pause(10);
      }
    })();
    try {
      const requestRedirect = { hostname: 'new.example.test' };
      await cluster.apply(
        inNamespace('shop', 'HTTPRoute', 'new', {
          spec: {
            parentRefs: [{ name: 'gw' }],
            rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect }] }],
          },
        }),
      );
      await until('the new route is in the model', () =>
        JSON.stringify(controller.translation?.models.get('shop/gw')?.model).includes('new.example.test'),
      );
    } finally {
      ended.abort();
      await restless;
    }
  });
});

/** The ports of the Gateway `shop/gw` in each translation; `none` where it has no model. */
function portsOfModels(): {
  readonly published: readonly string[];
  readonly onTranslation: NonNullable<ControllerOptions['onTranslation']>;
} {
  const published: string[] = [];
  return {
    published,
    onTranslation: ({ models }) => {
      const model = models.get('shop/gw')?.model;
      published.push(model === undefined ? 'none' : model.binds.map(({ port }) => port).join());
    },
  };
}

/** @param run may delay the read of the Secret, or let it fail */
function beforeReadOf(api: KubeApi, secret: string, run: () => Promise<void> | void): void {
  const list = api.list.bind(api);
  api.list = async (request, ...rest) => {
    if (request.query?.['fieldSelector'] === `metadata.name=${secret}`) await run();
    return await list(request, ...rest);
  };
}

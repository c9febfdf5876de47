import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { accessTo } from '../api/localServer.testing.ts';
import { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import type { Named } from '../types/index.ts';
import { ObjectReconciler } from './objectReconciler.ts';
import type { ProvisionedObjects } from './provisionedObjects.ts';
import { provisionedResources } from './kinds.ts';

const owner = { metadata: { name: 'one', namespace: 'default', uid: '1' } } as Named;
const service: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'one', namespace: 'default' },
};

test('the reconciler knows which objects are being created for the first time', async (t) => {
  const asked = Promise.withResolvers<void>();
  const may = Promise.withResolvers<void>();
  const access = await accessTo(t, (request, response) => {
    asked.resolve();
    void may.promise.then(() => {
      // There is none of that name; what is applied is taken.
      response.writeHead(request.method === 'GET' ? 404 : 200);
      response.end(JSON.stringify({ ...service, kind: request.method === 'GET' ? 'Status' : 'Service' }));
    });
  });
  const metrics = createMetrics({ process: false });
  const api = new KubeApi({ access, metrics, userAgent: 'test' });
  const there: KubeObject[] = [];
  const made = Promise.withResolvers<void>();
  const objects: Pick<ProvisionedObjects, 'kinds' | 'onChange' | 'servingOf'> = {
    kinds: provisionedResources.map((resource) => ({
      resource,
      objects: {
        size: 0,
        get: () => undefined,
        list: () => [],
        inNamespace: () => [],
        onChange: () => () => {},
      },
    })),
    onChange: () => {},
    servingOf: () => ({ deployment: undefined, service: there[0] }),
  };
  const upkeep = new ObjectReconciler(
    {
      apiVersion: 'v1',
      kind: 'Owner',
      queue: 'test',
      failureMessage: 'no',
      field: 'owner',
      namesOf: () => ['one'],
      statusOf: () => {
        made.resolve();
        return 'there';
      },
    },
    {
      api,
      objects: objects as ProvisionedObjects,
      mayWrite: () => true,
      onChange: () => {},
      log: memoryLog().log,
      metrics,
    },
  );
  const state = (): readonly boolean[] => [
    upkeep.isBusy,
    upkeep.isBeginning('default/one'),
    upkeep.has('default/one'),
  ];
  assert.deepEqual(state(), [false, false, false]);
  upkeep.want(owner, 'mark', () => [service]);
  await asked.promise;
  assert.deepEqual(state(), [true, true, false]);
  // Its Service is there before the answer has come.
  there.push(service);
  assert.deepEqual(state(), [true, false, false]);
  may.resolve();
  await made.promise;
  upkeep.statuses([owner]);
  assert.deepEqual(state().slice(1), [false, true]);
  await upkeep.close();
  assert.equal(upkeep.isBusy, false);
});

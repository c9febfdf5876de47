import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition, GatewayAddress } from '../types/index.ts';
import type { Infrastructure, ProxyTrouble, StatusKind } from './contract.ts';
import { translate } from './index.ts';
import { readObjects } from './objects.testing.ts';

const { objects, options } = readObjects(`
kind: GatewayClass
metadata: { name: ours }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Gateway
metadata: { name: gate }
spec:
  gatewayClassName: ours
  addresses: [{ value: 198.19.1.20 }]
  allowedListeners: { namespaces: { from: Same } }
  listeners: [{ name: web, port: 80, protocol: HTTP }]
---
kind: ListenerSet
metadata: { name: set }
spec: { parentRef: { name: gate }, listeners: [{ name: more, port: 81, protocol: HTTP }] }`);

interface Status {
  readonly addresses?: readonly GatewayAddress[];
  readonly conditions: readonly Condition[];
}

/** The statuses of the Gateway and of its ListenerSet, with the proxies that serve them. */
function statusesWith(
  infrastructure: Infrastructure | undefined,
  troubles: readonly ProxyTrouble[] = [],
): readonly [Status, Status] {
  const { report } = translate(objects, {
    ...options,
    infrastructure: new Map(infrastructure === undefined ? [] : [['default/gate', infrastructure]]),
    troubles: new Map([['default/gate', troubles]]),
  });
  const of = (wanted: StatusKind): Status => report.find(({ kind }) => kind === wanted)?.status as Status;
  return [of('Gateway'), of('ListenerSet')];
}

const programmedOf = ({ conditions }: Status): string =>
  conditions
    .filter(({ type }) => type === 'Programmed')
    .map(({ status, reason, message }) => `${status} ${reason} ${message}`.trim())
    .join();

const addresses = (count: number): readonly GatewayAddress[] =>
  Array.from({ length: count }, (_, index) => ({ value: `198.19.1.${String(index + 1)}` }));

test('a Gateway with more addresses than a status can list is programmed, and lists the requested one', () => {
  const [many] = statusesWith({ addresses: addresses(20) });
  assert.deepEqual(
    many.addresses?.map(({ value }) => value),
    ['198.19.1.20', ...addresses(15).map(({ value }) => value)],
  );
  assert.equal(
    programmedOf(many),
    'True Programmed the network has given 20 addresses; the status can list 16',
  );
  const [few] = statusesWith({ addresses: addresses(16) });
  assert.deepEqual(
    few.addresses?.map(({ value }) => value),
    addresses(16).map(({ value }) => value),
  );
  assert.equal(programmedOf(few), 'True Programmed');
});

test('a ListenerSet is programmed only while the proxies of its Gateway serve it', () => {
  const served = { addresses: [{ value: '198.19.1.20' }] };
  const set = (...surroundings: Parameters<typeof statusesWith>): string =>
    programmedOf(statusesWith(...surroundings)[1]);
  assert.equal(set(served), 'True Programmed');
  assert.equal(set(undefined), 'Unknown Pending proxies are being set up');
  assert.equal(
    set(served, [{ refused: ['broken'], broken: [] }]),
    'False ParentNotProgrammed Gateway default/gate is not programmed: a proxy does not take it: broken',
  );
  assert.equal(
    set({ addresses: [], pending: 'no proxy is available' }),
    'False ParentNotProgrammed Gateway default/gate is not programmed: no proxy is available',
  );
});

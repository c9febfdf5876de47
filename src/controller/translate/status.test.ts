import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition, GatewayAddress } from '../types/index.ts';
import type { Infrastructure } from './contract.ts';
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
  listeners: [{ name: web, port: 80, protocol: HTTP }]`);

interface Status {
  readonly addresses?: readonly GatewayAddress[];
  readonly conditions: readonly Condition[];
}

/** The status of the Gateway with the proxies that serve it. */
function gatewayWith(infrastructure: Infrastructure): Status {
  const surroundings = { ...options, infrastructure: new Map([['default/gate', infrastructure]]) };
  const { report } = translate(objects, surroundings);
  return report.find(({ kind }) => kind === 'Gateway')?.status as Status;
}

const programmedOf = ({ conditions }: Status): string =>
  conditions
    .filter(({ type }) => type === 'Programmed')
    .map(({ status, reason, message }) => `${status} ${reason} ${message}`.trim())
    .join();

const addresses = (count: number): readonly GatewayAddress[] =>
  Array.from({ length: count }, (_, index) => ({ value: `198.19.1.${String(index + 1)}` }));

test('a Gateway with more addresses than a status can list is programmed, and lists the requested one', () => {
  const many = gatewayWith({ addresses: addresses(20) });
  assert.deepEqual(
    many.addresses?.map(({ value }) => value),
    ['198.19.1.20', ...addresses(15).map(({ value }) => value)],
  );
  assert.equal(
    programmedOf(many),
    'True Programmed the network has given 20 addresses; the status can list 16',
  );
  const few = gatewayWith({ addresses: addresses(16) });
  assert.deepEqual(
    few.addresses?.map(({ value }) => value),
    addresses(16).map(({ value }) => value),
  );
  assert.equal(programmedOf(few), 'True Programmed');
});

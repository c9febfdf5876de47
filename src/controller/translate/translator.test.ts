import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Named } from '../types/index.ts';
import type { KubeObjects, Translation } from './contract.ts';
import { translate } from './index.ts';
import { readObjects } from './objects.testing.ts';
import { randomSteps } from './randomChanges.testing.ts';
import { Translator } from './translator.ts';
import { newer, told, world } from './world.testing.ts';

test('translations of parts equal a whole translation after any sequence of changes', () => {
  const here = world();
  const translator = new Translator();
  // A small generator: the same changes each time.
  let state = Number(process.env['SEED'] ?? 0x5eed);
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x7fff_ffff;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  translator.translate(here.objects, here.options);
  const steps = randomSteps();
  const names = Object.keys(steps);
  const turns = 150;
  for (let turn = 0; turn < turns; turn++) {
    const name = pick(names);
    steps[name]?.(here, pick);
    const [part, whole] = [
      translator.translate(here.objects, here.options),
      translate(here.objects, here.options),
    ];
    assert.deepEqual(told(part), told(whole), `turn ${String(turn)}: ${name}`);
  }
  // The rest: other listeners of a Gateway, and facts about the whole installation.
  assert.ok(translator.parts > turns * 0.9, `only ${String(translator.parts)} were parts`);
});

test('from time to time everything is translated all the same', () => {
  const here = world();
  const translator = new Translator();
  const at = (now: string): void => {
    translator.translate(here.objects, { ...here.options, now });
  };
  at('2026-01-01T00:00:00Z');
  at('2026-01-01T00:05:00Z');
  assert.equal(translator.parts, 1);
  at('2026-01-01T00:05:01Z');
  assert.equal(translator.parts, 1);
  at('2026-01-01T00:10:01Z');
  assert.equal(translator.parts, 2);
});

test('Gateways that share a route are translated together, and others are not', () => {
  const names = ['a', 'b', 'c', 'd'];
  const gateways = names.map(
    (name) => `
kind: Gateway
metadata: { name: ${name} }
spec: { gatewayClassName: ours, listeners: [{ name: http, port: 80, protocol: HTTP }] }`,
  );
  const route = (name: string, parents: string): string => `
kind: HTTPRoute
metadata: { name: ${name} }
spec: { parentRefs: [${parents}], rules: [{}] }`;
  const { objects, options } = readObjects(
    [
      '\nkind: GatewayClass\nmetadata: { name: ours }\nspec: { controllerName: portcullis.dev/gateway }',
      ...gateways,
      route('alone', '{ name: a }'),
      route('shared', '{ name: a }, { name: b }'),
      ...Array.from({ length: 9 }, (_, index) => route(`other-${String(index)}`, '{ name: c }')),
    ].join('\n---'),
  );
  const translator = new Translator();
  const before = translator.translate(objects, options);
  const httpRoutes = objects.httpRoutes.map((one) =>
    one.metadata.name === 'alone' ? newer({ ...one, spec: { ...one.spec, hostnames: ['x.test'] } }) : one,
  );
  const after = translator.translate({ ...objects, httpRoutes }, options);
  assert.equal(translator.parts, 1);
  assert.deepEqual(told(after), told(translate({ ...objects, httpRoutes }, options)));
  // The very same object: no other part of the controller has to look at it again.
  const kept = names.filter(
    (name) => after.models.get(`default/${name}`) === before.models.get(`default/${name}`),
  );
  assert.deepEqual(kept, ['c', 'd']);
});

test('an object that no Gateway asks for, such as those of proxies, has nothing translated', () => {
  const { objects, options } = readObjects(`
kind: GatewayClass
metadata: { name: ours }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Gateway
metadata: { name: a }
spec:
  gatewayClassName: ours
  listeners:
    - { name: http, port: 80, protocol: HTTP }
    - { name: https, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: later }] } }
---
kind: HTTPRoute
metadata: { name: r }
spec: { parentRefs: [{ name: a }], rules: [{ backendRefs: [{ name: app, port: 80 }] }] }
---
kind: Service
metadata: { name: app }
spec: { ports: [{ port: 80 }] }`);
  const translator = new Translator();
  const before = translator.translate(objects, options);
  const named = (name: string): Named => ({ metadata: { name, namespace: 'default' } }) as Named;
  let now = objects;
  const turn = (change: Partial<Record<keyof KubeObjects, readonly unknown[]>>): Translation => {
    now = { ...now, ...(change as Partial<KubeObjects>) };
    const after = translator.translate(now, options);
    assert.deepEqual(told(after), told(translate(now, options)));
    return after;
  };
  const after = turn({
    services: [...objects.services, named('portcullis-a')],
    configMaps: [named('portcullis-a')],
    secrets: [named('another')],
    namespaces: [named('another')],
  });
  assert.equal(translator.parts, 1);
  assert.equal(after.models.get('default/a'), before.models.get('default/a'));
  // Asked for in vain until now; and found until now.
  turn({ secrets: [named('later')] });
  assert.equal(translator.parts, 1);
  turn({ services: [named('portcullis-a')] });
  assert.equal(translator.parts, 1);
  turn({ services: [] });
  assert.equal(translator.parts, 2);
});

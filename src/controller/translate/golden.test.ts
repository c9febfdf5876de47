/**
 * Pairs of objects and what they become (`golden/*.in.yaml`, `*.out.yaml`). `UPDATE=1 node --test <this file>` writes
 * the second ones anew; look at the difference before it is committed.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { joinEndpoints, type Model, type Place } from '../../model/index.ts';
import { TestPlane } from '../../proxy/dataPlane.testing.ts';
import { translate, type StatusUpdate, type Translation } from './index.ts';
import { keyOfNamed } from './lookup.ts';
import { now, readObjects, withPlaceholders } from './objects.testing.ts';

const folder = fileURLToPath(new URL('golden/', import.meta.url));
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.slice(0, -'.in.yaml'.length));

const read = (name: string): string => readFileSync(`${folder}${name}`, 'utf8');

/** The pods, if there are any. */
const podsOf = (pods: Translation['pods']): object =>
  pods.size === 0
    ? {}
    : {
        pods: Object.fromEntries(
          Array.from(pods, ([key, { object: _, gateways, model, ...rest }]) => [
            key,
            { ...rest, gateways: gateways.map(keyOfNamed), binds: model?.model.binds },
          ]),
        ),
      };

function rendered({ models, pods, endpoints, report, defects }: Translation): string {
  const shown = {
    models: Object.fromEntries([...models].map(([key, { model }]) => [key, model.binds])),
    ...podsOf(pods),
    endpoints: Object.fromEntries(endpoints),
    report: report.map(({ kind, namespace, name, changed, status }: StatusUpdate) => ({
      object: `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
      ...(changed ? {} : { changed }),
      status: kind === 'GatewayClass' ? { ...status, supportedFeatures: undefined } : status,
    })),
    defects: defects.map(({ object, error }) => ({ object, error: String(error) })),
  };
  return stringify(inShort(withPlaceholders(JSON.parse(JSON.stringify(shown)))), {
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
}

interface Written {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** `type: status (reason)`, the generation, the time where it is not that of the run, the message. */
const conditionInShort = (condition: Written): string => {
  const { type, status, reason, message, observedGeneration, lastTransitionTime } = condition;
  const generation = observedGeneration === undefined ? '' : ` @${observedGeneration}`;
  const since = lastTransitionTime === now ? '' : ` since ${lastTransitionTime}`;
  return `${type} ${status} (${reason})${generation}${since}${message === '' ? '' : ` ${message}`}`;
};

/** Fields that would fill pages and say the same everywhere. */
const shorter: Readonly<Record<string, (value: never) => unknown>> = {
  conditions: (conditions: readonly Written[]) => conditions.map(conditionInShort),
  place: ({ file, path }: Place) => `${file} ${path}`,
  ciphers: () => 'usual',
  supportedKinds: (kinds: readonly { readonly kind: string }[]) => kinds.map(({ kind }) => kind).join(' '),
};

function inShort(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(inShort);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, shorter[name]?.(value as never) ?? inShort(value)]),
  );
}

const frozen = <Data>(data: Data): Data => {
  if (typeof data === 'object' && data !== null && !(data instanceof Map)) {
    Object.freeze(data);
    Object.values(data).forEach(frozen);
  }
  return data;
};

test('there are cases, and every expectation belongs to one', () => {
  assert.ok(cases.length > 5);
  for (const name of readdirSync(folder))
    assert.ok(cases.includes(name.replace(/\.(?:in|out)\.yaml$/, '')), `${name} has no input`);
});

for (const name of cases) {
  test(`the objects of ${name} become the expected models and statuses`, () => {
    const { objects, options } = readObjects(read(`${name}.in.yaml`));
    const text = rendered(translate(frozen(objects), options));
    if (process.env['UPDATE'] === '1') writeFileSync(`${folder}${name}.out.yaml`, text);
    assert.equal(text, read(`${name}.out.yaml`));
  });

  test(`a second look at ${name}, with the statuses written, changes nothing`, () => {
    const { objects, options } = readObjects(read(`${name}.in.yaml`));
    const first = translate(objects, options);
    const second = translate(withStatuses(objects, first.report), {
      ...options,
      now: '2030-01-01T00:00:00Z',
    });
    assert.deepEqual(
      second.report.filter(({ changed }) => changed).map(({ kind, name: object }) => `${kind} ${object}`),
      [],
    );
    assert.deepEqual(second.models, first.models);
  });

  test(`the data plane takes the models of ${name} as they are`, async (t) => {
    const { objects, options } = readObjects(read(`${name}.in.yaml`));
    const { models, pods, endpoints } = translate(objects, options);
    const ofPods = Array.from(pods.values(), ({ model }) => (model === undefined ? [] : [model])).flat();
    for (const { model } of [...models.values(), ...ofPods]) {
      const plane = new TestPlane();
      t.after(() => plane.close());
      // It survives JSON, and every port is free.
      const sent = JSON.parse(JSON.stringify(joinEndpoints(model, endpoints))) as Model;
      await plane.plane.apply({ ...sent, binds: sent.binds.map((bind) => ({ ...bind, port: 0 })) });
      // The plane of a test has no store; a proxy has one, see test/e2e/proxy.test.ts.
      const wrong = plane.plane.broken.filter(
        ({ problem }) => !/needs config\.(?:store|mcp\.pins or)/.test(problem),
      );
      assert.deepEqual(wrong, []);
    }
  });
}

function withStatuses<Objects extends object>(objects: Objects, report: readonly StatusUpdate[]): Objects {
  const statuses = new Map(
    report.map(({ kind, namespace, name, status }) => [`${kind} ${namespace} ${name}`, status]),
  );
  return Object.fromEntries(
    Object.entries(objects).map(([slot, list]) => [
      slot,
      (list as { kind: string; metadata: { namespace?: string; name: string } }[]).map((object) => {
        const { namespace, name } = object.metadata;
        const status = statuses.get(`${object.kind} ${namespace} ${name}`);
        return status === undefined ? object : { ...object, status };
      }),
    ]),
  ) as Objects;
}

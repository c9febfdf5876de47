/**
 * Pairs of Gateways, and McpBackends with pods of their own, and the objects that serve them (`golden/*.in.yaml`, `*.out.yaml`). `UPDATE=1 node --test <this
 * file>` writes the second ones anew; look at the difference before it is committed.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { KubeObject } from '../api/object.ts';
import { translate } from '../translate/index.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import { controllerName, readObjects } from '../translate/objects.testing.ts';
import { KnownParameters } from './knownParameters.ts';
import { mcpPodObjects } from './mcpPodObjects.ts';
import { objectsOf } from './objects.ts';
import { hasSessions, portsOf, type Installation } from './request.ts';

const folder = fileURLToPath(new URL('golden/', import.meta.url));
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.slice(0, -'.in.yaml'.length));

const installation: Installation = {
  controllerName,
  image: 'portcullis:0.1.0',
  imagePullPolicy: 'IfNotPresent',
  controller: 'portcullis-controller.portcullis-system.svc:15010',
  controllerAddress: '198.18.130.1',
  trust: '(certificates)',
};

function provisioned(name: string): Record<string, readonly KubeObject[]> {
  const { objects, options } = readObjects(readFileSync(`${folder}${name}.in.yaml`, 'utf8'));
  const parameters = new KnownParameters(objects.parameters);
  const { models, pods } = translate(objects, { ...options, parameters: parameters.named });
  const ofPods = Array.from(
    pods,
    ([key, pod]) => [`McpBackend ${key}`, mcpPodObjects(pod, installation)] as const,
  );
  return Object.fromEntries([
    ...objects.gateways.map((gateway) => {
      const key = keyOfNamed(gateway);
      const model = models.get(key)?.model;
      const chosen = parameters.of(
        gateway,
        objects.gatewayClasses.find((one) => one.metadata.name === gateway.spec.gatewayClassName),
      );
      assert.ok(model !== undefined && chosen !== undefined, `${key} is accepted`);
      return [
        key,
        objectsOf({
          gateway,
          ports: portsOf(model),
          sessions: hasSessions(model),
          parameters: chosen,
          installation,
          replicas: 5,
        }),
      ] as const;
    }),
    ...ofPods,
  ]);
}

for (const name of cases)
  test(`the Gateways of ${name} get the expected objects`, () => {
    const text = stringify(JSON.parse(JSON.stringify(provisioned(name))), {
      lineWidth: 0,
      aliasDuplicateObjects: false,
    });
    if (process.env['UPDATE'] === '1') writeFileSync(`${folder}${name}.out.yaml`, text);
    assert.equal(text, readFileSync(`${folder}${name}.out.yaml`, 'utf8'));
  });

test('there are cases, and every expectation belongs to one', () => {
  assert.ok(cases.length > 1);
  for (const name of readdirSync(folder))
    assert.ok(cases.includes(name.replace(/\.(?:in|out)\.yaml$/, '')), `${name} has no input`);
});

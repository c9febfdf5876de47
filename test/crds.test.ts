import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { crdFiles } from '../scripts/crds/index.ts';
import { structural } from '../scripts/crds/structural.ts';
import { fileFieldsOfServers } from '../src/controller/translate/calledServers.ts';
import { requestPolicies, schemaOf } from '../src/controller/translate/policyKinds.ts';
import { factsOf } from '../src/policies/facts.ts';

const of = (schema: z.ZodType): unknown => structural(z.toJSONSchema(schema, { target: 'openapi-3.0' }));

test('a field that may be a number or a text is one of Kubernetes', () => {
  assert.deepEqual(of(z.union([z.int().min(0), z.string().regex(/^\d+%$/)])), {
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    minimum: 0,
    pattern: String.raw`^\d+%$`,
    'x-kubernetes-int-or-string': true,
  });
});

test('an object of anything is kept whole, one of texts says so', () => {
  assert.deepEqual(of(z.record(z.string(), z.unknown())), {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
  });
  assert.deepEqual(of(z.record(z.string(), z.string())), {
    type: 'object',
    additionalProperties: { type: 'string' },
  });
});

test('a schema that is not structural is rejected, and the error says where', () => {
  assert.throws(
    () => of(z.object({ a: z.union([z.string(), z.boolean()]) })),
    /^Error: \.a: only an integer/,
  );
  assert.throws(() => of(z.object({ a: z.string().default('x') })), /^Error: \.a: default is not for a CRD/);
});

test('deploy/install.yaml has the CRDs as they are', () => {
  const text = readFileSync(new URL('../deploy/install.yaml', import.meta.url), 'utf8');
  const installed = parseAllDocuments(text).map((one) => JSON.stringify(one));
  for (const { path, render } of crdFiles)
    assert.ok(
      installed.includes(JSON.stringify(parse(render()))),
      `${path}: UPDATE=1 node --test test/deploy/chart.test.ts`,
    );
});

test('no CRD has fields beside additional ones, which the server would refuse', () => {
  assert.ok(crdFiles.length > 0);
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    assert.ok(!('properties' in value && 'additionalProperties' in value));
    Object.values(value).forEach(visit);
  };
  for (const { render } of crdFiles) visit(parse(render()));
});

/** The names of all fields below a schema that a user may write, in every form that it has. */
function fieldsBelow(schema: unknown, path: string, found: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { properties, items, anyOf } = schema as Record<string, unknown>;
  for (const [name, value] of Object.entries((properties as object | undefined) ?? {})) {
    if ((value as { not?: unknown }).not !== undefined) continue;
    found.add(`${path}.${name}`);
    fieldsBelow(value, `${path}.${name}`, found);
  }
  fieldsBelow(items, `${path}.*`, found);
  if (Array.isArray(anyOf)) for (const one of anyOf) fieldsBelow(one, path, found);
}

test('GatewayPolicies have every field of a policy in all of its forms, but those that a cluster refuses', () => {
  const file = crdFiles.find(({ path }) => path.includes('gatewaypolicies'));
  const inCluster = new Set<string>();
  const crd = parse(file?.render() ?? '') as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] };
  };
  fieldsBelow(crd.spec.versions[0]?.schema.openAPIV3Schema.properties.spec, '', inCluster);
  const missing = requestPolicies.flatMap((name) => {
    const { clusterForms = [], notInCluster = [], servers } = factsOf(name) ?? {};
    /** The empty path stands for the settings themselves. */
    const placeOf = (path: string): string => `.policies.${name}${path === '' ? '' : `.${path}`}`;
    const inFile = new Set<string>();
    fieldsBelow(
      z.toJSONSchema(schemaOf(name) as z.ZodType, { target: 'openapi-3.0', io: 'input' }),
      `.policies.${name}`,
      inFile,
    );
    const refused = [
      ...notInCluster.map((field) => `.policies.${name}.${field}`),
      ...(servers?.paths ?? []).flatMap((path) =>
        fileFieldsOfServers.map((field) => `${placeOf(path)}.${field}`),
      ),
      ...clusterForms.map(({ path }) => placeOf(path)),
    ];
    const isRefused = (field: string): boolean =>
      refused.some((at) => field === at || field.startsWith(`${at}.`));
    const isEmpty = (field: string): boolean => {
      const below = [...inFile].filter((one) => one.startsWith(`${field}.`));
      return below.length > 0 && below.every(isRefused);
    };
    return [...inFile].filter((field) => !inCluster.has(field) && !isRefused(field) && !isEmpty(field));
  });
  assert.deepEqual(missing, []);
});

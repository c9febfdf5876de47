import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { crdFiles } from '../scripts/crds/index.ts';
import { structural } from '../scripts/crds/structural.ts';

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

test('no CRD has fields beside additional ones, which the server would refuse', () => {
  assert.ok(crdFiles.length > 0);
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    assert.ok(!('properties' in value && 'additionalProperties' in value));
    Object.values(value).forEach(visit);
  };
  for (const { render } of crdFiles) visit(parse(render()));
});

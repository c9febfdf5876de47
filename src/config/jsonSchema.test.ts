import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { hasSample, scalarProperties } from './fieldSamples.ts';
import { configurationSchema } from './jsonSchema.ts';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly $ref?: string;
  readonly $id?: string;
  readonly default?: unknown;
  readonly not?: object;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: unknown;
}

const schema = JSON.parse(configurationSchema()) as JsonSchema;

test('the committed schema is the one that the program prints', () => {
  const committed = new URL('../../schema/portcullis.schema.json', import.meta.url);
  // Not `equal`: nobody wants to read two schemas.
  assert.ok(readFileSync(committed, 'utf8') === configurationSchema(), 'run `npm run generate`');
});

test('editors are told of unknown fields, of fields that are not built, and of types', () => {
  assert.equal(schema.additionalProperties, false);
  assert.deepEqual(schema.properties?.['llm']?.not, {});
  const bind = schema.properties?.['binds']?.items;
  assert.equal(bind?.additionalProperties, false);
  assert.deepEqual(bind?.properties?.['port']?.type, ['integer', 'string']);
});

/** Every schema within a schema once, with its path. */
function* parts(part: unknown, path: string, seen = new Set<object>()): Generator<[string, JsonSchema]> {
  if (typeof part !== 'object' || part === null || seen.has(part)) return;
  seen.add(part);
  const schema = part as JsonSchema;
  yield [path, schema];
  for (const name of ['properties', 'definitions'] as const)
    for (const [key, inner] of Object.entries(schema[name] ?? {}))
      yield* parts(inner, `${path}.${key}`, seen);
  for (const name of ['items', 'additionalProperties'] as const)
    yield* parts(schema[name], `${path}[]`, seen);
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [index, inner] of (schema[name] ?? []).entries())
      yield* parts(inner, `${path}<${index}>`, seen);
}

/** A reference has the description of its definition, or one beside it. */
const descriptionOf = ({ description, $ref, allOf = [] }: JsonSchema): string | undefined =>
  description ??
  ($ref === undefined
    ? allOf.map(descriptionOf).find((one) => one !== undefined)
    : schema.definitions?.[$ref.slice($ref.lastIndexOf('/') + 1)]?.description);

test('every property has a description, in definitions and alternatives too', () => {
  const undescribed: string[] = [];
  let checked = 0;
  for (const [path, { properties = {} }] of parts(schema, ''))
    for (const [name, property] of Object.entries(properties)) {
      checked++;
      if (descriptionOf(property) === undefined) undescribed.push(`${path}.${name}`);
    }
  assert.deepEqual(undescribed, []);
  assert.ok(checked > 1_000, `${checked} properties`);
});

test('every text and number has words, a default or an example', () => {
  const properties = [...scalarProperties(schema)];
  assert.deepEqual([...new Set(properties.flatMap(([name, one]) => (hasSample(one) ? [] : [name])))], []);
  assert.ok(properties.length > 500, `${properties.length} properties`);
});

test('defaults that a description names are values of the schema', () => {
  const limits = schema.properties?.['config']?.properties?.['limits']?.properties;
  assert.equal(limits?.['maxConnections']?.default, 50_000);
  assert.equal(limits?.['headTimeout']?.default, '10s');
  assert.equal(limits?.['maxHeadBytes']?.default, '64KiB');
  assert.equal(schema.properties?.['config']?.properties?.['statsAddr']?.default, '[::]:15020');
});

test('the schema has a stable name', () => {
  assert.equal(schema.$id, 'https://portcullis.dev/schema/portcullis.schema.json');
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { configurationSchema } from './jsonSchema.ts';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly not?: object;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly allOf?: readonly JsonSchema[];
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

/** Field paths without a description, below a schema. */
function undescribed(part: JsonSchema, path: string): string[] {
  const inner = Object.entries(part.properties ?? {}).flatMap(([name, field]) => [
    ...(field.description === undefined && field.allOf === undefined ? [`${path}.${name}`] : []),
    ...undescribed(field, `${path}.${name}`),
  ]);
  return part.items === undefined ? inner : [...inner, ...undescribed(part.items, `${path}[]`)];
}

test('every field has a description', () => {
  assert.deepEqual(undescribed(schema, ''), []);
});

/**
 * Every field that a configuration may have is read by the program: a field that is checked and then ignored promises
 * what nobody does. The test compares names, so it notices a field whose name occurs nowhere else.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Schema {
  readonly not?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** A field that is refused, or has one possible value, changes nothing that a reader could ask for. */
const saysNothing = ({ not, const: only, enum: values }: Schema): boolean =>
  not !== undefined || only !== undefined || values?.length === 1;

/** Each accepted field → the places where it may stand. */
function fieldsOf(schema: unknown): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const walk = (node: unknown, place: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key !== 'properties') {
        walk(value, place);
        continue;
      }
      for (const [name, field] of Object.entries(value as NonNullable<Schema['properties']>)) {
        if (saysNothing(field)) continue;
        found.set(name, [...(found.get(name) ?? []), `${place}.${name}`]);
        walk(field, `${place}.${name}`);
      }
    }
  };
  walk(schema, '');
  return found;
}

/** The parts of a source where a field can be read: no comments, no declarations of types. */
const readable = (source: string): string =>
  source
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\/\/.*$/gm, '')
    .replaceAll(/^\s*readonly \w+\??:.*$/gm, '');

/** The fields that a schema reads itself, where it turns the written document into settings: `value.name`, or `transform(({ name })`. */
function readBySchemas(): ReadonlySet<string> {
  const sources = globSync('src/**/*.ts', { cwd: root }).filter(isSchema).map(read).map(readable);
  return new Set(
    sources.flatMap((source) => [
      ...Array.from(source.matchAll(/\bvalue\.(\w+)/g), ([, name]) => name ?? ''),
      ...Array.from(source.matchAll(/transform\(\s*\(\{([^}]*)\}/g), ([, names]) => names ?? '').flatMap(
        (names) => names.match(/\w+/g) ?? [],
      ),
    ]),
  );
}

/** Every word of the sources that the filter lets through. */
function wordsOf(wanted: (file: string) => boolean): ReadonlySet<string> {
  const files = globSync('src/**/*.ts', { cwd: root }).filter(
    (file) => !/\.(?:test|testing)\.ts$/.test(file) && wanted(file),
  );
  return new Set(files.flatMap((file) => readable(read(file)).match(/[A-Za-z_$][\w$]*/g) ?? []));
}

const isSchema = (file: string): boolean =>
  /(?:\/schema\/|\/schema\.ts$|Schema\.ts$|schemas\.ts$)/.test(file);
const isModel = (file: string): boolean => file.startsWith('src/model/');
const isSource = (file: string): boolean => /^src\/(?:config|stream|controller)\//.test(file);

test('every field of the configuration has a reader outside the schema', () => {
  const fields = fieldsOf(JSON.parse(read('schema/portcullis.schema.json')));
  assert.ok(fields.size > 200, `${String(fields.size)} fields`);
  const words = new Set([...wordsOf((file) => !isSchema(file) && !isModel(file)), ...readBySchemas()]);
  const ignored = [...fields].filter(([name]) => !words.has(name)).map(([, places]) => places[0]);
  assert.deepEqual(ignored, []);
});

test('every field of the model has a reader outside the sources of configuration', () => {
  const fields = [...read('src/model/model.ts').matchAll(/^ {2,}readonly (\w+)\??:/gm)].map(
    ([, name]) => name ?? '',
  );
  assert.ok(fields.length > 150, `${String(fields.length)} fields`);
  const words = wordsOf((file) => !isModel(file) && !isSource(file) && !isSchema(file));
  assert.deepEqual(
    [...new Set(fields)].filter((name) => !words.has(name)),
    [],
  );
});

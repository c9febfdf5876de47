import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { describeApi } from './describe.ts';
import { DescriptionError } from './descriptionText.ts';

const folder = join(import.meta.dirname, '..', 'openapi', 'testdata');
const documents = ['petstore-3.0.yaml', 'tasks-3.1.json'].map(
  (name) => parse(readFileSync(join(folder, name), 'utf8')) as unknown,
);

/** Every place in a document, as the keys that lead there. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, one]) => placesIn(one, [...path, key]))];
}

/** The document with another value at one place. */
function withValue(document: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const copy = structuredClone(document) as Record<string, unknown>;
  copy[key] = withValue(copy[key], rest, value);
  return copy;
}

const oddities = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    [],
    {},
    [null],
    [[]],
    { $ref: '#/components/schemas/Pet' },
    { $ref: '#/paths' },
    { $ref: '#' },
    { $ref: 7 },
    { $ref: '#/%' },
    'path',
    '{a}{b}',
    '\ud800',
    '__proto__',
  ),
);

for (const [index, document] of documents.entries()) {
  const places = placesIn(document);
  test(`document ${index} with any value at any place becomes tools, or is refused with a reason`, () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(places.length - 1), oddities), { maxLength: 3 }), (changes) => {
        let changed = document;
        for (const [place, value] of changes)
          try {
            changed = withValue(changed, places[place] ?? [], value);
          } catch {
            // The place is gone by an earlier change.
          }
        try {
          const { api } = describeApi(JSON.stringify(changed ?? null), {});
          for (const { tool } of api.operations) assert.match(tool.name, /^[A-Za-z0-9_.-]{1,128}$/);
        } catch (error) {
          if (!(error instanceof DescriptionError)) throw error;
        }
      }),
      { numRuns: 3_000 },
    );
  });
}

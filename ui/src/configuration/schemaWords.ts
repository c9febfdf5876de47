/** The fields and values that the JSON Schema of the configuration allows at a place. */

import type { Step } from './schemaPath.ts';

/** The parts of JSON Schema that completion reads. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string | readonly string[];
}

/** A word to offer. */
export interface Word {
  readonly label: string;
  readonly about?: string;
}

/** References may form a circle. */
const mostDepth = 16;

/** All forms that a schema allows, with references followed. */
function formsOf(schema: Schema, root: Schema, depth = 0): readonly Schema[] {
  if (depth > mostDepth) return [];
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
  const target = $ref === undefined ? undefined : resolve($ref, root);
  return [
    schema,
    ...[...(target === undefined ? [] : [target]), ...anyOf, ...oneOf, ...allOf].flatMap((each) =>
      formsOf(each, root, depth + 1),
    ),
  ];
}

/** Follows a reference within the schema. */
function resolve(reference: string, root: Schema): Schema | undefined {
  let found: unknown = root;
  for (const name of reference.replace(/^#\/?/, '').split('/').filter(Boolean))
    found =
      typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined;
  return found as Schema | undefined;
}

/** The forms at the end of a path. */
function formsAt(root: Schema, path: readonly Step[]): readonly Schema[] {
  let forms = formsOf(root, root);
  for (const step of path)
    forms = forms.flatMap((form) => {
      const { additionalProperties: others } = form;
      const next =
        step === '[]'
          ? form.items
          : (form.properties?.[step] ?? (typeof others === 'object' ? others : undefined));
      return next === undefined ? [] : formsOf(next, root);
    });
  return forms;
}

/** The fields of the mapping at a path. */
export function fieldsAt(root: Schema, path: readonly Step[]): readonly Word[] {
  const words = new Map<string, Word>();
  for (const { properties = {} } of formsAt(root, path))
    for (const [label, field] of Object.entries(properties)) {
      const about = formsOf(field, root).find(({ description }) => description !== undefined)?.description;
      words.set(label, { label, ...(about === undefined ? {} : { about }) });
    }
  return [...words.values()];
}

/** The fixed values of the field at a path. */
export function valuesAt(root: Schema, path: readonly Step[]): readonly Word[] {
  const values = formsAt(root, path).flatMap((form) => [
    ...(form.enum ?? []),
    ...(form.const === undefined ? [] : [form.const]),
    ...(form.type === 'boolean' ? [true, false] : []),
  ]);
  return [...new Set(values.map(String))].map((label) => ({ label }));
}

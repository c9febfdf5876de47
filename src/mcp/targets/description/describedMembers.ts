import type { ObjectMembers, ValueForm } from '../../../model/index.ts';
import { isObject } from './descriptionText.ts';
import type { References } from './references.ts';
import { isType } from './schemaKeywords.ts';

/** Keywords whose schemas describe the same value. */
const combined = ['allOf', 'anyOf', 'oneOf'] as const;

/** Keywords that describe members without their names. */
const nameless = ['additionalProperties', 'unevaluatedProperties', 'patternProperties'] as const;

/** Do the members of an object in this form become names of their own, beside those of other arguments? */
export const namesMembers = ({ style, explode }: Pick<ValueForm, 'style' | 'explode'>): boolean =>
  explode && (style === 'form' || style === 'matrix');

/** The members that a schema describes for an object; undefined where it describes none. */
export function objectMembers(schema: unknown, references: References): ObjectMembers | undefined {
  const names = new Set<string>();
  const open = collect(schema, references, names, new Set());
  if (names.size === 0 && !open) return undefined;
  return { names: [...names], ...(open ? { open: true } : {}) };
}

/**
 * Collects the names of the described members.
 * @param seen schemas that may be recursive
 * @returns whether other members are described, too
 */
function collect(schema: unknown, references: References, names: Set<string>, seen: Set<unknown>): boolean {
  if (!isObject(schema) || seen.has(schema) || !mayBeObject(schema['type'])) return false;
  seen.add(schema);
  const { $ref: ref, type, properties, additionalProperties } = schema;
  if (isObject(properties)) for (const name of Object.keys(properties)) names.add(name);
  const parts = combined.flatMap((keyword): readonly unknown[] => {
    const list = schema[keyword];
    return Array.isArray(list) ? list : [];
  });
  const all = ref === undefined ? parts : [references.at(ref), ...parts];
  const isOpen = all.map((part) => collect(part, references, names, seen)).includes(true);
  // A bare `type: object` is the usual form of an object with any members.
  const isBare = type !== undefined && !isObject(properties) && all.length === 0;
  return (
    isOpen ||
    nameless.some((keyword) => schema[keyword] === true || isObject(schema[keyword])) ||
    (isBare && additionalProperties !== false)
  );
}

const mayBeObject = (type: unknown): boolean =>
  type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));

/** Schemas that lead from one to the next: references and the parts of `allOf`. */
const maxSteps = 32;

/** The types that a schema gives its value; undefined where it gives none. */
export function typesOf(
  schema: unknown,
  references: References,
  steps = maxSteps,
): readonly string[] | undefined {
  if (!isObject(schema) || steps === 0) return undefined;
  const { $ref: ref, type, allOf } = schema;
  if (type !== undefined) {
    // A description with a type of its own invention says nothing.
    if (!isType(type)) return undefined;
    return Array.isArray(type) ? (type as readonly string[]) : [type as string];
  }
  const parts: readonly unknown[] = [
    ...(ref === undefined ? [] : [references.at(ref)]),
    ...(Array.isArray(allOf) ? (allOf as readonly unknown[]) : []),
  ];
  for (const part of parts) {
    const types = typesOf(part, references, steps - 1);
    if (types !== undefined) return types;
  }
  return undefined;
}

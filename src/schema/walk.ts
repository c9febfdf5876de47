import type { z } from 'zod';

/** Keys and indexes from the top of a document to a field. */
export type FieldPath = readonly (string | number)[];

/** Looks up what a schema is marked with. */
type MarkOf<Mark> = (schema: z.core.$ZodType) => Mark | undefined;

/** Visits the marked fields that a document has. The document need not fit the schema. */
export function eachMarkedField<Mark>(
  schema: z.core.$ZodType,
  document: unknown,
  markOf: MarkOf<Mark>,
  visit: (path: FieldPath, mark: Mark, value: unknown) => void,
): void {
  const walk = (at: z.core.$ZodType, value: unknown, path: FieldPath): void => {
    if (value === undefined || value === null) return;
    const found = markOf(at);
    if (found !== undefined) return visit(path, found, value);
    const { fields = {}, each, inner = [] } = partsOf(at);
    for (const part of formsFor(value, inner)) walk(part, value, path);
    if (typeof value !== 'object') return;
    for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      const below = each ?? (Object.hasOwn(fields, key) ? fields[key] : undefined);
      if (below !== undefined) walk(below, member, [...path, key]);
    }
  };
  walk(schema, document, []);
}

/**
 * Visits the fields that the objects of a document could have, and do not.
 * @param isOpen tells whether an object that is not there is looked into as if it were empty
 */
export function eachUnsetField(
  schema: z.core.$ZodType,
  document: unknown,
  isOpen: (path: FieldPath) => boolean,
  visit: (path: FieldPath, field: z.core.$ZodType) => void,
): void {
  const walk = (at: z.core.$ZodType, value: unknown, path: FieldPath): void => {
    if (typeof value !== 'object' || value === null) return;
    const { fields, each, inner = [] } = partsOf(at);
    for (const part of formsFor(value, inner)) if (fits(part, value)) walk(part, value, path);
    const members = value as Readonly<Record<string, unknown>>;
    if (each !== undefined)
      for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(members))
        walk(each, member, [...path, key]);
    for (const [name, field] of Object.entries(fields ?? {})) {
      const below = [...path, name];
      const member = Object.hasOwn(members, name) ? members[name] : undefined;
      if (member !== undefined) walk(field, member, below);
      else if (isOpen(below)) walk(field, {}, below);
      else visit(below, field);
    }
  };
  walk(schema, document, []);
}

/** Could a value be of a form? An object with other fields is of another form. */
function fits(schema: z.core.$ZodType, value: object): boolean {
  const { fields, inner = [] } = partsOf(schema);
  if (fields !== undefined)
    return !Array.isArray(value) && Object.keys(value).every((key) => Object.hasOwn(fields, key));
  return inner.length === 0 || inner.some((part) => fits(part, value));
}

/** The schemas of a field, from the outermost to the innermost. */
export function* layersOf(schema: z.core.$ZodType): Iterable<z.core.$ZodType> {
  for (let at: z.core.$ZodType | undefined = schema; at !== undefined;) {
    yield at;
    const { inner = [] }: Parts = partsOf(at);
    at = inner.length === 1 ? inner[0] : undefined;
  }
}

/**
 * Visits every part of a schema, outer parts first; `*` stands for any key or index.
 * @param visit returns false where the parts below do not count
 */
export function eachPart(
  schema: z.core.$ZodType,
  visit: (path: readonly string[], part: z.core.$ZodType) => boolean,
): void {
  const survey = (
    at: z.core.$ZodType,
    path: readonly string[],
    above: ReadonlySet<z.core.$ZodType>,
  ): void => {
    if (!visit(path, at)) return;
    // JSON values hold JSON values.
    if (above.has(at)) return;
    const from = new Set([...above, at]);
    const { fields = {}, each, inner = [] } = partsOf(at);
    for (const part of inner) survey(part, path, from);
    for (const [name, field] of Object.entries(fields)) survey(field, [...path, name], from);
    if (each !== undefined) survey(each, [...path, '*'], from);
  };
  survey(schema, [], new Set());
}

/**
 * Visits every marked part of a schema, outer parts first, and nothing below it. Parts that lead to no mark are left
 * out: the whole schema of the configuration has ten thousand places, and each start walks it several times.
 */
export function eachMarkedPart<Mark>(
  schema: z.core.$ZodType,
  markOf: MarkOf<Mark>,
  visit: (path: readonly string[], mark: Mark, part: z.core.$ZodType) => void,
): void {
  const leading = leadingTo(schema, (part) => markOf(part) !== undefined);
  eachPart(schema, (path, part) => {
    if (!leading.has(part)) return false;
    const mark = markOf(part);
    if (mark !== undefined) visit(path, mark, part);
    return mark === undefined;
  });
}

/** The parts of a schema that are marked, or have a marked part below them. */
function leadingTo(
  schema: z.core.$ZodType,
  isMarked: (part: z.core.$ZodType) => boolean,
): ReadonlySet<z.core.$ZodType> {
  const above = new Map<z.core.$ZodType, z.core.$ZodType[]>([[schema, []]]);
  // The map grows while the loop goes over it: each part is looked at once, also where schemas hold themselves.
  for (const [part] of above) {
    const { fields = {}, each, inner = [] } = partsOf(part);
    for (const below of [...inner, ...Object.values(fields), ...(each === undefined ? [] : [each])]) {
      const known = above.get(below);
      if (known === undefined) above.set(below, [part]);
      else known.push(part);
    }
  }
  const leading = new Set([...above.keys()].filter(isMarked));
  for (const part of leading) for (const outer of above.get(part) ?? []) leading.add(outer);
  return leading;
}

/**
 * The forms that a value can have: where a map may stand in the place of a text, as `{file: …}` does, the mark of the text
 * is not about what stands in the map.
 */
function formsFor(value: unknown, forms: readonly z.core.$ZodType[]): readonly z.core.$ZodType[] {
  if (typeof value !== 'object') return forms;
  const composed = forms.filter((form) => !isScalar(form));
  return composed.length === 0 ? forms : composed;
}

const scalars: ReadonlySet<string> = new Set(['string', 'number', 'boolean', 'literal', 'enum']);

function isScalar(schema: z.core.$ZodType): boolean {
  const { inner = [] } = partsOf(schema);
  return inner.length === 0 ? scalars.has(schema._zod.def.type) : inner.every(isScalar);
}

interface Parts {
  readonly fields?: Readonly<Record<string, z.core.$ZodType>>;
  /** The schema of every member of a list or map. */
  readonly each?: z.core.$ZodType;
  /** Schemas of the same value. */
  readonly inner?: readonly z.core.$ZodType[];
}

/** The parts of a schema, on the side of the written document. */
function partsOf(schema: z.core.$ZodType): Parts {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return { fields: def.shape };
    case 'record':
      return { each: def.valueType };
    case 'array':
      return { each: def.element };
    case 'union':
      return { inner: def.options };
    case 'intersection':
      return { inner: [def.left, def.right] };
    case 'pipe':
      return { inner: [def.in] };
    case 'lazy':
      return { inner: [def.getter()] };
    case 'optional':
    case 'nonoptional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
    case 'catch':
      return { inner: [def.innerType] };
    default:
      return {};
  }
}

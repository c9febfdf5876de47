/** A JSON Schema, as zod writes it. */
type Schema = Readonly<Record<string, unknown>>;

/** Keywords that mean the same in a CRD. */
const kept = [
  ...['type', 'description', 'enum', 'pattern', 'format', 'minLength', 'maxLength', 'minimum', 'maximum'],
  ...['minItems', 'maxItems', 'required', 'nullable', 'x-kubernetes-validations'],
  ...['minProperties', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys'],
] as const;
/** Keywords that are turned into something else below. */
const turned = ['properties', 'additionalProperties', 'items', 'anyOf'] as const;

/** Keywords that CRDs do not have, and that refuse nothing. */
const dropped = ['samples', 'examples'] as const;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The structural schema of a CRD that says what a JSON Schema says. A field that is not in it is pruned by the server,
 * and refused by a client that asks for it (kubectl does).
 *
 * @throws Error at what a structural schema cannot say: passed over, it would let in what the controller refuses
 */
export function structural(schema: Schema, path = ''): Schema {
  const unknown = Object.keys(schema).find(
    (key) => ![...kept, ...turned, ...dropped].includes(key as (typeof kept)[number]),
  );
  if (unknown !== undefined) throw new Error(`${path || 'the schema'}: ${unknown} is not for a CRD`);
  const result: Record<string, unknown> = {};
  for (const key of kept) if (schema[key] !== undefined) result[key] = schema[key];
  // The bounds that zod states for every integer.
  if (result['maximum'] === Number.MAX_SAFE_INTEGER) delete result['maximum'];
  const { properties, additionalProperties, items, anyOf } = schema;
  if (isSchema(properties))
    result['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [
        name,
        structural(value as Schema, `${path}.${name}`),
      ]),
    );
  if (isSchema(items)) result['items'] = structural(items, `${path}[]`);
  if (isSchema(additionalProperties)) {
    const any = Object.keys(additionalProperties).length === 0;
    if (any) result['x-kubernetes-preserve-unknown-fields'] = true;
    else result['additionalProperties'] = structural(additionalProperties, `${path}.*`);
  }
  if (anyOf !== undefined) Object.assign(result, numberOrText(anyOf, path));
  return result;
}

/** The one union that CRDs know; bounds of numbers hold for numbers, patterns for texts. */
function numberOrText(anyOf: unknown, path: string): Schema {
  const branches = Array.isArray(anyOf) ? anyOf.filter(isSchema) : [];
  const [number, text, ...others] = branches;
  if (number?.['type'] !== 'integer' || text?.['type'] !== 'string' || others.length > 0)
    throw new Error(`${path}: only an integer or a string may be a union`);
  return {
    ...withoutType(structural(number, path)),
    ...withoutType(structural(text, path)),
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    'x-kubernetes-int-or-string': true,
  };
}

const withoutType = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'type'));

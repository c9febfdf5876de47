/** The parts of a JSON Schema that the configuration's schema uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly not?: object;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** The name of the definition that a schema refers to, if it refers to one. */
export function definitionOf(schema: Schema): string | undefined {
  const ref = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  return ref?.replace('#/definitions/', '');
}

/** Whether a schema refuses every value: the field is known, and this version does not support it. */
export const isUnsupported = (schema: Schema): boolean =>
  schema.not !== undefined && Object.keys(schema.not).length === 0;

const unionOf = (schema: Schema): readonly Schema[] | undefined => schema.anyOf ?? schema.oneOf;

/** An object among the values of a field. */
export interface Part {
  /** Follows the path of the field: `[]` for items, `.<name>` for values of a map. */
  readonly suffix: string;
  readonly schema: Schema;
}

/** The objects with fields of their own that a value may be or contain, without those of definitions. */
export function partsOf(schema: Schema, suffix = ''): readonly Part[] {
  if (definitionOf(schema) !== undefined) return [];
  const own = schema.properties === undefined ? [] : [{ suffix, schema }];
  const values = schema.additionalProperties;
  return [
    ...own,
    ...(schema.items === undefined ? [] : partsOf(schema.items, `${suffix}[]`)),
    ...(typeof values === 'object' ? partsOf(values, `${suffix}.<name>`) : []),
    ...(unionOf(schema) ?? []).flatMap((each) => partsOf(each, suffix)),
  ];
}

const literal = (value: unknown): string =>
  `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** A schema's type in words, with a link for each definition. */
export function typeOf(schema: Schema, linkOf: (definition: string) => string): string {
  const definition = definitionOf(schema);
  if (definition !== undefined) return linkOf(definition);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(', ');
  const union = unionOf(schema);
  if (union !== undefined) return [...new Set(union.map((each) => typeOf(each, linkOf)))].join('; ');
  const types = [schema.type ?? []].flat();
  // An integer may be written as `$NAME`, so its schema allows a string beside it.
  const [type = 'any value'] = types.filter((each) => each !== 'string' || types.length === 1);
  switch (type) {
    case 'array':
      return `list of: ${typeOf(schema.items ?? {}, linkOf)}`;
    case 'object':
      return schema.properties === undefined && typeof schema.additionalProperties === 'object'
        ? `map of: ${typeOf(schema.additionalProperties, linkOf)}`
        : 'object';
    case 'integer':
    case 'number':
      return `${type}${rangeOf(schema)}`;
    case 'string':
      return 'text';
    default:
      return type;
  }
}

/** The limits of a number; those of a whole number in general say nothing. */
function rangeOf({ minimum, maximum }: Schema): string {
  const least = minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const most = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (least === undefined && most === undefined) return '';
  if (most === undefined) return `, at least ${String(least)}`;
  return least === undefined ? `, at most ${String(most)}` : `, ${String(least)} to ${String(most)}`;
}

import { DescriptionError, isObject, type JsonObject } from './descriptionText.ts';
import { isPattern, nested, plain, type Nesting } from './schemaKeywords.ts';
import { withinDocument } from './linkedDocuments.ts';
import { pathOf, type References } from './references.ts';

/** A schema of a tool: an object, or `true` and `false`. */
export type Schema = JsonObject | boolean;

export interface SchemaSettings {
  readonly references: References;
  /** OpenAPI 3.0 has a dialect of its own; 3.1 has JSON Schema. */
  readonly dialect: '3.0' | '3.1';
  /** A request has no `readOnly` properties, a response no `writeOnly` ones. */
  readonly use: 'request' | 'response';
  /** Counts the schemas of all tools. */
  readonly budget: SchemaBudget;
}

/** The schemas that the tools of a description may have in all. */
export class SchemaBudget {
  private left = 250_000;

  /** @throws DescriptionError */
  take(): void {
    if (--this.left < 0)
      throw new DescriptionError(
        'the tools of the description have too many schemas in all: choose fewer operations with `include`',
      );
  }
}

/** A reference to another schema stands here in a tool. */
const definitionPath = '#/$defs/';

/**
 * Writes the schemas of one tool in JSON Schema. Every schema that a `$ref` names becomes an entry of `$defs`, once, so
 * that recursive schemas stay as small as they are.
 */
export class SchemaWriter {
  private readonly settings: SchemaSettings;
  /** The reference of each definition, and its name. */
  private readonly names = new Map<string, string>();
  private readonly taken = new Set<string>();
  private readonly waiting: [name: string, ref: string][] = [];
  /** Strings of bytes are written in base64. */
  private readonly base64: boolean;

  constructor(settings: SchemaSettings, base64 = false) {
    this.settings = settings;
    this.base64 = base64;
  }

  /** @throws DescriptionError */
  write(schema: unknown): Schema {
    this.settings.budget.take();
    if (typeof schema === 'boolean') return schema;
    // An absent schema allows everything.
    if (schema === undefined || schema === null) return {};
    if (!isObject(schema)) throw new DescriptionError('a schema is no object');
    return this.object(schema);
  }

  /**
   * The `$defs` of everything that was written; undefined where it needs none.
   * @throws DescriptionError
   */
  definitions(): JsonObject | undefined {
    const found: [string, Schema][] = [];
    for (let next = this.waiting.pop(); next !== undefined; next = this.waiting.pop())
      found.push([next[0], this.write(this.settings.references.at(next[1]))]);
    if (found.length === 0) return undefined;
    return Object.fromEntries(found.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  private object(schema: JsonObject): JsonObject {
    const ref = schema['$ref'];
    if (schema['$dynamicRef'] !== undefined)
      throw new DescriptionError('a schema has $dynamicRef, which the gateway does not support');
    // 3.0: "any sibling elements of a $ref are ignored".
    if (ref !== undefined && this.settings.dialect === '3.0') return { $ref: this.definition(ref) };
    const dropped = this.droppedProperties(schema);
    const entries: [string, unknown][] = [];
    if (ref !== undefined) entries.push(['$ref', this.definition(ref)]);
    for (const [keyword, value] of Object.entries(schema)) {
      const nesting = nested.get(keyword);
      if (nesting !== undefined) entries.push(...this.parts(keyword, nesting, value, dropped));
      else if (keyword === 'required' && Array.isArray(value))
        entries.push([keyword, value.filter((name) => typeof name === 'string' && !dropped.has(name))]);
      else if (plain.get(keyword)?.(value) === true) entries.push([keyword, value]);
    }
    const written = Object.fromEntries(entries);
    const examples = schema['example'] === undefined ? {} : { examples: [schema['example']] };
    const whole = { ...examples, ...written };
    const dialect = this.settings.dialect === '3.0' ? fromDialect(schema, whole) : whole;
    return this.base64 && isBytes(schema) ? inBase64(dialect) : dialect;
  }

  private parts(
    keyword: string,
    nesting: Nesting,
    value: unknown,
    dropped: ReadonlySet<string>,
  ): [string, unknown][] {
    if (nesting === 'schema') return isSchema(value) ? [[keyword, this.write(value)]] : [];
    if (nesting === 'list')
      return Array.isArray(value) && value.length > 0
        ? [[keyword, value.map((one: unknown) => this.write(one))]]
        : [];
    if (!isObject(value)) return [];
    const kept = Object.entries(value).filter(([name]) =>
      keyword === 'properties' ? !dropped.has(name) : keyword !== 'patternProperties' || isPattern(name),
    );
    return [[keyword, Object.fromEntries(kept.map(([name, one]) => [name, this.write(one)]))]];
  }

  /** The properties that the other side of the exchange has. */
  private droppedProperties({ properties }: JsonObject): ReadonlySet<string> {
    const mark = this.settings.use === 'request' ? 'readOnly' : 'writeOnly';
    const dropped = new Set<string>();
    if (!isObject(properties)) return dropped;
    for (const [name, property] of Object.entries(properties))
      if (isObject(property) && (property[mark] === true || this.target(property)?.[mark] === true))
        dropped.add(name);
    return dropped;
  }

  private target({ $ref: ref }: JsonObject): JsonObject | undefined {
    const found = ref === undefined ? undefined : this.settings.references.at(ref);
    return isObject(found) ? found : undefined;
  }

  /** The place of a definition, which is written later. */
  private definition(ref: unknown): string {
    const path = pathOf(ref);
    const key = JSON.stringify(path);
    const known = this.names.get(key);
    if (known !== undefined) return definitionPath + known;
    const name = this.freeName(path);
    this.names.set(key, name);
    // Looked up now, so that the error names the operation.
    this.settings.references.at(ref);
    this.waiting.push([name, ref as string]);
    return definitionPath + name;
  }

  private freeName(path: readonly string[]): string {
    const within = withinDocument(path);
    const [first, second, ...rest] = within;
    const own = first === 'components' && second === 'schemas' && rest.length > 0 ? rest : within;
    const base =
      own
        .join('_')
        .replaceAll('$', '')
        .replaceAll(/[^A-Za-z0-9_.-]+/g, '_') || 'description';
    let name = base;
    for (let n = 2; this.taken.has(name); n++) name = `${base}_${n}`;
    this.taken.add(name);
    return name;
  }
}

const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isObject(value);

/** Does the schema stand for bytes that are no text? */
export const isBytes = (schema: unknown): boolean => {
  if (!isObject(schema)) return false;
  const { type, format, contentMediaType, contentEncoding } = schema;
  if (type !== undefined && type !== 'string') return false;
  if (format === 'binary') return true;
  return (
    typeof contentMediaType === 'string' &&
    contentEncoding === undefined &&
    !/^text\/|[/+]json\b/i.test(contentMediaType)
  );
};

function inBase64(schema: JsonObject): JsonObject {
  const rest = Object.entries(schema).filter(([keyword]) => keyword !== 'format');
  return { ...Object.fromEntries(rest), type: 'string', contentEncoding: 'base64' };
}

/** The parts of the dialect of 3.0 that JSON Schema writes in another way. */
function fromDialect(source: JsonObject, written: JsonObject): JsonObject {
  let schema = written;
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (source[exclusive] !== true || schema[limit] === undefined) continue;
    const { [limit]: value, ...rest } = schema;
    schema = { ...rest, [exclusive]: value };
  }
  return source['nullable'] === true ? orNull(schema) : schema;
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values, ...rest } = schema;
  if (typeof type !== 'string') {
    // Without a type of its own it is a combination, such as an `allOf` with one `$ref`.
    const { description, ...all } = schema;
    const nullable = { anyOf: [all, { type: 'null' }] };
    return description === undefined ? nullable : { description, ...nullable };
  }
  const withNull =
    Array.isArray(values) && !values.includes(null) ? [...(values as unknown[]), null] : values;
  return { ...rest, type: [type, 'null'], ...(withNull === undefined ? {} : { enum: withNull }) };
}

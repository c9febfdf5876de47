import type { Choice, InputSchema, PropertySchema } from './mcpTypes.ts';

/** The texts of the fields of a form, by the names of the arguments. */
export type FormValues = Readonly<Record<string, string>>;

/** A value that a field lets people choose. */
export interface Option {
  readonly value: string;
  readonly label: string;
}

/**
 * Makes the arguments of a call from the fields of its form.
 * @throws Error naming the argument that its schema does not allow
 */
export function argumentsOf(schema: InputSchema, values: FormValues): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const text = values[name] ?? '';
      const isRequired = schema.required?.includes(name) === true;
      return text === '' && !(isRequired && property.type === 'string')
        ? []
        : [[name, valueOf(name, property, text)]];
    }),
  );
}

function valueOf(name: string, property: PropertySchema, text: string): unknown {
  const choice = choicesIn(property)?.find((each) => String(each.const) === text);
  if (choice !== undefined) return choice.const;
  switch (property.type) {
    case 'string':
      return text;
    case 'boolean':
      return text === 'true';
    case 'number':
    case 'integer': {
      const value = Number(text);
      if (text.trim() === '' || Number.isNaN(value)) throw new Error(`${name}: expected a number`);
      return value;
    }
    default:
      try {
        return JSON.parse(text);
      } catch {
        throw new Error(`${name}: expected JSON`);
      }
  }
}

/** The texts of fields that stand for values, such as defaults. Fields of other names are left out. */
export const textsFor = (
  { properties = {} }: InputSchema,
  values: Readonly<Record<string, unknown>>,
): FormValues =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, { type }]) => {
      const value = values[name];
      if (value === undefined) return [];
      const isText = typeof value === 'string' && type !== 'array' && type !== 'object';
      return [[name, isText ? value : JSON.stringify(value)]];
    }),
  );

/** The default values of a form. */
export const defaultsOf = ({ properties = {} }: InputSchema): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, property.default]));

/** The only values that a field may have; undefined where it may have others. */
export const optionsOf = (property: PropertySchema): readonly Option[] | undefined =>
  choicesIn(property)?.map(optionOf);

/** The values that a list may have; undefined where it may have others. */
export const itemOptionsOf = ({ type, items }: PropertySchema): readonly Option[] | undefined =>
  type === 'array'
    ? (items?.anyOf ?? items?.enum?.map((value) => ({ const: value })))?.map(optionOf)
    : undefined;

function choicesIn({ type, enum: values, oneOf }: PropertySchema): readonly Choice[] | undefined {
  if (type === 'boolean') return [{ const: true }, { const: false }];
  if (oneOf?.every((choice) => choice.const !== undefined) === true) return oneOf;
  return values?.map((value) => ({ const: value }));
}

const optionOf = ({ const: value, title }: Choice): Option => ({
  value: String(value),
  label: title ?? String(value),
});

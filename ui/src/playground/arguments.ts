import type { InputSchema, PropertySchema } from './mcpSession.ts';

/** The texts of the fields of a form, by the names of the arguments. */
export type FormValues = Readonly<Record<string, string>>;

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

function valueOf(name: string, { type, enum: choices }: PropertySchema, text: string): unknown {
  const choice = choices?.find((each) => String(each) === text);
  if (choice !== undefined) return choice;
  switch (type) {
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

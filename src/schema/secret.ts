import { z } from 'zod';
import { eachMarkedField, eachMarkedPart, type FieldPath } from './walk.ts';

/** The secrets that a field of the configuration may hold. Everything that protects secrets derives from these marks. */
export interface SecretMark {
  /**
   * `secret`: the value is a secret, also where the file has it in clear. `variable`: the field is for ordinary values,
   * and a value that comes from an environment variable counts as a secret.
   */
  readonly kind: 'secret' | 'variable';
  /** The fields that carry the value in the model, which dumps mask: those with these names, or the field itself. */
  readonly masked: 'field' | readonly string[];
}

const marks = z.registry<SecretMark>();

/** A field whose value is a secret. @param masked names of the fields that carry it in the model */
export const secret = <Schema extends z.ZodType>(schema: Schema, ...masked: readonly string[]): Schema =>
  mark(schema, { kind: 'secret', masked });

/** A field that may hold a secret, and that dumps therefore mask. */
export const mayHoldSecret = <Schema extends z.ZodType>(schema: Schema): Schema =>
  mark(schema, { kind: 'variable', masked: 'field' });

/** A field that may hold a secret, and that dumps show: an operator needs it to understand the configuration. */
export const mayHoldShownSecret = <Schema extends z.ZodType>(schema: Schema): Schema =>
  mark(schema, { kind: 'variable', masked: [] });

/** The copy carries the mark: other fields may use the same schema. */
function mark<Schema extends z.ZodType>(schema: Schema, as: SecretMark): Schema {
  const marked = schema.clone() as Schema;
  marks.add(marked, as);
  return marked;
}

/** Visits the marked fields that a document has. The document need not fit the schema. */
export function eachSecretField(
  schema: z.core.$ZodType,
  document: unknown,
  visit: (path: FieldPath, mark: SecretMark) => void,
): void {
  eachMarkedField(schema, document, (part) => marks.get(part), visit);
}

type VisitMark = (path: readonly string[], mark: SecretMark, field: z.core.$ZodType) => void;

/** Visits every marked field that a schema has; `*` stands for any key or index. */
export function eachMark(schema: z.core.$ZodType, visit: VisitMark): void {
  eachMarkedPart(schema, (part) => marks.get(part), visit);
}

/** The fields of the model that dumps mask for the marks of a schema, or for some of them. */
export function maskedNames(
  schema: z.core.$ZodType,
  counts: (field: z.core.$ZodType) => boolean = () => true,
): ReadonlySet<string> {
  const names = new Set<string>();
  eachMark(schema, (path, { masked }, field) => {
    if (!counts(field)) return;
    const own = path.findLast((part) => part !== '*');
    const named = masked !== 'field' ? masked : own === undefined ? [] : [own];
    for (const name of named) names.add(name);
  });
  return names;
}

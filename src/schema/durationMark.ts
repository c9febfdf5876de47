import { z } from 'zod';

const marks = z.registry<{ readonly duration: true }>();

/** Marks a field as a length of time in text, so that the CRDs can give the API server its form. */
export function markDuration<Schema extends z.ZodType>(schema: Schema): Schema {
  marks.add(schema, { duration: true });
  return schema;
}

/** Says whether a field is a length of time, also after `.optional()`, `.refine()` and the like. */
export const isDuration = (schema: z.core.$ZodType): boolean => marks.get(schema) !== undefined;

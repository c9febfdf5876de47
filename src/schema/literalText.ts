import { z } from 'zod';
import { eachMarkedPart } from './walk.ts';

const marks = z.registry<{ readonly literal: true }>();

/**
 * A field whose text is taken as it is written: `$NAME` in it is no environment variable. The copy carries the mark:
 * other fields may use the same schema.
 */
export function literalText<Schema extends z.ZodType>(schema: Schema): Schema {
  const marked = schema.clone() as Schema;
  marks.add(marked, { literal: true });
  return marked;
}

/** The paths of all such fields of a schema; `*` stands for any key or index. */
export function literalPaths(schema: z.core.$ZodType): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  eachMarkedPart(
    schema,
    (part) => marks.get(part),
    (path) => found.push(path),
  );
  return found;
}

import { z } from 'zod';
import { eachMarkedField, type FieldPath } from './walk.ts';

/** The kind of file that a field of the configuration names. Everything that looks at such files derives from these marks. */
export interface FileMark {
  /** `command`: a program that is found along PATH. `output`: a file that the gateway makes in a folder that exists. */
  readonly kind: 'file' | 'folder' | 'command' | 'output';
  /** Tells whether a value names a file, where it may also be the text itself. */
  readonly names: (value: string) => boolean;
  /** Bytes that a file has at least. */
  readonly leastBytes?: number | undefined;
}

const marks = z.registry<FileMark>();

/** A field that names a file, folder or program. The copy carries the mark: other fields may use the same schema. */
export function namesFile<Schema extends z.ZodType>(
  schema: Schema,
  kind: FileMark['kind'] = 'file',
  names: FileMark['names'] = () => true,
  leastBytes?: number,
): Schema {
  const marked = schema.clone() as Schema;
  marks.add(marked, { kind, names, leastBytes });
  return marked;
}

export const fileMarkOf = (schema: z.core.$ZodType): FileMark | undefined => marks.get(schema);

/** Visits the files, folders and programs that a document names. The document need not fit the schema. */
export function eachNamedFile(
  schema: z.core.$ZodType,
  document: unknown,
  visit: (path: FieldPath, mark: FileMark, name: string) => void,
): void {
  eachMarkedField(schema, document, fileMarkOf, (path, mark, value) => {
    if (typeof value === 'string' && value !== '' && mark.names(value)) visit(path, mark, value);
  });
}

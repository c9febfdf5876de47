import { z } from 'zod';
import type { OperationFilter } from '../../../model/index.ts';
import { fields } from '../../../schema/index.ts';

const texts = (description: string) =>
  z
    .array(z.string().min(1, { error: 'expected a text' }))
    .optional()
    .describe(description);

/** A list of operations in the file. */
export const operationList = (description: string) =>
  fields({
    tags: texts('Operations with one of these tags.'),
    paths: texts('Operations of these paths, as the description writes them; * stands for any characters.'),
    operations: texts('Operations with these ids, names of tools, or method and path such as GET /pets.'),
  })
    .refine(
      ({ tags, paths, operations }) => [tags, paths, operations].some((list) => (list ?? []).length > 0),
      {
        error: 'expected tags, paths or operations',
      },
    )
    .transform(({ tags = [], paths = [], operations = [] }): OperationFilter => ({ tags, paths, operations }))
    .describe(description);

import { z } from 'zod';

/**
 * Says of a field or value: the format has it, this version does not do it yet. A `z.never()` is how the loader knows
 * (`issues.ts`), here and in the schemas of policies; `hint` tells the user more.
 */
export function notBuilt(hint?: string): z.ZodOptional<z.ZodNever> {
  return z
    .never(hint === undefined ? undefined : { error: hint })
    .optional()
    .meta({ description: 'Known, but not built yet.' });
}

/** An object with exactly these fields; those of `unbuilt` are refused by name, all others as unknown. */
export function fields<Shape extends z.core.$ZodLooseShape>(
  built: Shape,
  unbuilt: readonly string[] = [],
): z.ZodObject<Shape, z.core.$strict> {
  const refused = Object.fromEntries(unbuilt.map((name) => [name, notBuilt()]));
  // The refused fields never have a value, so the type need not know them.
  return z.strictObject({ ...built, ...refused }) as unknown as z.ZodObject<Shape, z.core.$strict>;
}

/** Accepts one of the words; those of `unbuilt` are known and refused as such. */
export function choice<const Word extends string>(
  built: readonly Word[],
  unbuilt: readonly string[] = [],
): z.ZodEnum<z.core.util.ToEnum<Word>> {
  return z.enum(built, {
    error: (issue) =>
      unbuilt.includes(String(issue.input))
        ? `${String(issue.input)} is known, but not built yet in this version`
        : undefined,
  });
}

/** Adds the rule that exactly one of the fields stands in the object. */
export function oneOf<Schema extends z.ZodType<object>>(schema: Schema, names: readonly string[]): Schema {
  return schema.superRefine((value, context) => {
    const given = names.filter((name) => (value as Record<string, unknown>)[name] !== undefined);
    if (given.length === 1) return;
    const expected =
      names.length === 1 ? `expected ${names.join()}` : `expected exactly one of ${names.join(', ')}`;
    context.addIssue({
      code: 'custom',
      message: given.length === 0 ? expected : `${expected}, got ${given.join(' and ')}`,
      // A mistyped field explains by itself why none was found (issues.ts).
      params: { nothingGiven: given.length === 0 },
      ...(given[1] === undefined ? {} : { path: [given[1]] }),
    });
  });
}

/**
 * A string that `read` turns into something better.
 *
 * @param expected Ends the sentence "expected …".
 * @param read Returns undefined for a string that is not one; throws an Error to say more.
 */
export function parsed<T>(
  expected: string,
  read: (text: string) => T | undefined,
): z.ZodPipe<z.ZodString, z.ZodTransform<T, string>> {
  return z.string().transform((text, context): T => {
    let message = `expected ${expected}`;
    try {
      const value = read(text);
      if (value !== undefined) return value;
    } catch (error) {
      message = error instanceof Error ? error.message : message;
    }
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

import { z } from 'zod';
import { namesFile, secret } from '../../schema/index.ts';

/** A text that is written in the configuration or stands in a file of its own. */
export type TextSource =
  { readonly kind: 'inline'; readonly text: string } | { readonly kind: 'file'; readonly file: string };

/**
 * A secret text.
 *
 * @param problem what is wrong with a text that is written here; undefined where nothing is
 */
export const textSource = (description: string, problem: (text: string) => string | undefined) =>
  z
    .union([
      secret(z.string().max(1_048_576).meta({ description: 'The text itself.' }), 'text'),
      z.strictObject({
        file: namesFile(
          z.string().min(1).meta({ description: 'A file that holds it; read again when it changes.' }),
        ),
      }),
    ])
    .transform((value, ctx): TextSource => {
      if (typeof value !== 'string') return { kind: 'file', file: value.file };
      const message = problem(value);
      if (message !== undefined) ctx.addIssue({ code: 'custom', message });
      return { kind: 'inline', text: value };
    })
    .meta({ description });

import { z } from 'zod';
import { parseDuration } from '../../model/index.ts';
import { markDuration } from '../../schema/index.ts';

/** A length of time above zero as text (`10s`, `1m30s`, `500ms`); the output is milliseconds. */
export const duration = (description: string) =>
  markDuration(
    z
      .string()
      .transform((text, ctx): number => {
        const ms = parseDuration(text);
        if (ms !== undefined && ms > 0) return ms;
        ctx.addIssue({
          code: 'custom',
          message: 'expected a length of time above zero such as 10s, 1m30s or 500ms',
        });
        return z.NEVER;
      })
      .meta({ description }),
  );

import { z } from 'zod';

/**
 * A field of the format that this program does not have yet. It may stand in the schema, so that it is refused as
 * known and not taken for a typing error.
 */
export function notBuilt(why?: string): z.ZodOptional<z.ZodType<undefined, undefined>> {
  const because = why === undefined ? '' : `: ${why}`;
  const refusal = z
    .unknown()
    .refine((value) => value === undefined, {
      message: `known, but not built yet${because}`,
      params: { notBuilt: true },
    })
    .meta({ description: `Known, but not built yet${because}.`, not: {} });
  return (refusal as unknown as z.ZodType<undefined, undefined>).optional();
}

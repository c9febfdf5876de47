import { z } from 'zod';
import { tokenPattern } from './httpText.ts';

/** The pseudo-headers of a request (RFC 9113 §8.3.1). */
const pseudoHeaders: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path']);

/** The name of a header or a pseudo-header of a request; in lower case in the output. */
export const headerOrPseudo = () =>
  z
    .string()
    .refine((name) => tokenPattern.test(name) || pseudoHeaders.has(name), {
      message: `expected the name of a header, or one of ${[...pseudoHeaders].join(', ')}`,
    })
    .transform((name) => name.toLowerCase());

import { z } from 'zod';
import { normalizePath, parseAuthority } from '../../http/index.ts';

/** Pieces of `requestRedirect` and `urlRewrite`: another authority, another path. */

/** Visible ASCII without what ends a path; what is put into a target must not begin another message. */
const pathText = z
  .string()
  .max(2048)
  .regex(
    /^\/(?:[!$&-;=@-Z_a-z~]|%[0-9A-Fa-f]{2})*$/,
    'expected a path that begins with / and is percent-encoded',
  )
  .refine(
    (text) => normalizePath(text) === text,
    'dot segments and needless percent-encoding are not for here',
  );

const pathShape = z.strictObject({
  full: pathText
    .meta({ description: 'Stands in place of the whole path.', samples: ['/v2/orders'] })
    .optional(),
  prefix: pathText
    .meta({ description: 'Stands in place of the path prefix that the route matches.', samples: ['/v2'] })
    .optional(),
});

export type PathRewrite = { readonly kind: 'full' | 'prefix'; readonly value: string };

export const pathRewrite = pathShape
  .transform((value, ctx): PathRewrite => {
    if ((value.full === undefined) === (value.prefix === undefined)) {
      ctx.addIssue({ code: 'custom', message: 'expected exactly one of full, prefix' });
      return z.NEVER;
    }
    return value.full === undefined
      ? { kind: 'prefix', value: value.prefix ?? '/' }
      : { kind: 'full', value: value.full };
  })
  .meta({ description: 'Another path; the query stays.' });

const authorityText = (portAllowed: boolean) =>
  z.string().transform((text, ctx): string => {
    const parsed = parseAuthority(text);
    if (parsed !== undefined && (portAllowed || !/\]?:\d*$/.test(parsed.authority.replace(/^\[.*\]/, ''))))
      return parsed.authority;
    const expected = portAllowed
      ? 'a host name, with a port where it is not the usual one'
      : 'a host name without port';
    ctx.addIssue({ code: 'custom', message: `expected ${expected}` });
    return z.NEVER;
  });

export type AuthorityRewrite =
  | { readonly kind: 'full'; readonly authority: string }
  | { readonly kind: 'host'; readonly host: string }
  | { readonly kind: 'port'; readonly port: number }
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' };

const authorityShape = z.union([
  z.enum(['auto', 'none']).meta({ description: 'auto: the backend’s own name. none: left as it is.' }),
  z.strictObject({
    full: authorityText(true)
      .meta({ description: 'Host and port.', samples: ['app.internal:8000'] })
      .optional(),
    host: authorityText(false).meta({ description: 'Another host; the port stays.' }).optional(),
    port: z.int().min(1).max(65_535).meta({ description: 'Another port; the host stays.' }).optional(),
  }),
]);

export const authorityRewrite = (description: string) =>
  authorityShape
    .transform((value, ctx): AuthorityRewrite => {
      if (typeof value === 'string') return { kind: value };
      const { full, host, port } = value;
      if ([full, host, port].filter((part) => part !== undefined).length !== 1)
        ctx.addIssue({
          code: 'custom',
          message: 'expected exactly one of full, host, port, or auto, or none',
        });
      if (full !== undefined) return { kind: 'full', authority: full };
      if (host !== undefined) return { kind: 'host', host };
      return { kind: 'port', port: port ?? 0 };
    })
    .meta({ description });

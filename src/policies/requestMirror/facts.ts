import { z } from 'zod';
import { notBuilt } from '../fields/notBuilt.ts';
import { share } from '../fields/share.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** `name:port`, `[address]:port`, or the same behind `http://`. */
const hostText = z
  .string()
  .max(300)
  .transform((text, ctx): { readonly host: string; readonly port: number } => {
    const [, scheme, host = '', digits] =
      /^(http:\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(\d{1,5}))?\/?$/i.exec(text) ??
      [];
    const port = digits === undefined && scheme !== undefined ? 80 : Number(digits);
    if (host !== '' && port >= 1 && port <= 65_535)
      return { host: host.startsWith('[') ? host.slice(1, -1) : host.toLowerCase(), port };
    ctx.addIssue({ code: 'custom', message: 'expected name:port such as app.internal:8000 or [::1]:8000' });
    return z.NEVER;
  });

const mirror = z
  .strictObject({
    backend: z
      .strictObject({
        host: hostText.meta({ description: 'An HTTP app, as name:port.' }).optional(),
        service: notBuilt('services'),
        backend: notBuilt('named backends as mirrors; write its host here'),
      })
      .meta({ description: 'Where the copies go.' }),
    percentage: share('Share of the requests that are copied, from 0.0 to 1.0.').default(1),
  })
  .transform(({ backend: { host }, percentage }, ctx) => {
    if (host !== undefined) return { ...host, share: percentage };
    ctx.addIssue({ code: 'custom', message: 'expected host', path: ['backend'] });
    return z.NEVER;
  });

export const requestMirrorSchema = z
  .union([
    mirror.meta({ description: 'One mirror.' }),
    z.array(mirror).min(1).max(8).meta({ description: 'Several mirrors; each has its own share.' }),
  ])
  .transform((value) => ({ mirrors: Array.isArray(value) ? value : [value] }))
  .meta({ description: 'Sends copies of requests to other backends, whose answers are thrown away.' });

export type RequestMirrorSettings = z.output<typeof requestMirrorSchema>;

export const requestMirrorFacts = {
  schema: requestMirrorSchema,
  on: ['route'],
  about: 'forwarding',
  fileOnly: true,
} as const satisfies PolicyFacts;

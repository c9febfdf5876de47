import { z } from 'zod';
import { headerName, headerValue } from '../fields/httpText.ts';

/**
 * Fields that frame the message or belong to one connection (RFC 9110 §7.6.1, RFC 9112 §6): the wire alone writes
 * them, or a rule here could make two messages of one.
 */
export const refusedResponseHeaders: ReadonlySet<string> = new Set(
  [
    'connection',
    'content-length',
    'transfer-encoding',
    'keep-alive',
    'proxy-connection',
    'te',
    'trailer',
    'upgrade',
  ].concat(['http2-settings', 'expect', 'date']),
);

const modifierSchema = (refused: ReadonlySet<string>, why: string, description: string) => {
  const name = headerName().refine((text) => !refused.has(text.toLowerCase()), why);
  return z
    .strictObject({
      add: z
        .record(name, headerValue())
        .default({})
        .meta({ description: 'Appended; lines of that name that are there already stay.' }),
      set: z
        .record(name, headerValue())
        .default({})
        .meta({ description: 'Written in place of every line of that name.' }),
      remove: z.array(name).max(256).default([]).meta({ description: 'Names whose lines are dropped.' }),
    })
    .superRefine((settings, ctx) => {
      const seen = new Set<string>();
      for (const key of Object.keys(settings.set)) {
        const lower = key.toLowerCase();
        if (seen.has(lower))
          ctx.addIssue({ code: 'custom', message: 'set twice in different case', path: ['set', key] });
        seen.add(lower);
      }
    })
    .meta({ description });
};

/** `host` chooses the virtual host of the backend: urlRewrite.authority is the field for that. */
export const refusedRequestHeaders: ReadonlySet<string> = new Set([...refusedResponseHeaders, 'host']);

export const requestHeaderModifierSchema = modifierSchema(
  refusedRequestHeaders,
  'this field belongs to the connection or frames the message; it cannot be modified',
  'Changes to the headers that the backend gets.',
);

export const responseHeaderModifierSchema = modifierSchema(
  refusedResponseHeaders,
  'this field belongs to the connection or frames the message; it cannot be modified',
  'Changes to the headers that the client gets.',
);

export type HeaderModifierSettings = z.output<typeof requestHeaderModifierSchema>;

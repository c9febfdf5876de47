import { z } from 'zod';
import { parseAuthority } from '../../http/index.ts';
import { headerName, headerValue, tokenPattern } from '../fields/httpText.ts';
import { mayHoldSecret } from '../../schema/index.ts';
import type { PolicyFacts } from '../policyFacts.ts';

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

/** Both are the host that the request is for: HTTP/2 has a name of its own for it (RFC 9113 §8.3.1). */
export const namesAuthority = (name: string): boolean => /^(?:host|:authority)$/i.test(name);

const settable = z
  .string()
  .refine((text) => namesAuthority(text) || tokenPattern.test(text), 'not a header name (RFC 9110 §5.1)')
  .meta({ description: 'Name of a header field; `host` or `:authority` for the host.' });

const modifierSchema = (refused: ReadonlySet<string>, why: string, description: string) => {
  const name = headerName().refine((text) => !refused.has(text.toLowerCase()), why);
  // A request has one host, so that there is nothing to add to and nothing to remove; an answer has none.
  const setName = refused.has('host')
    ? settable.refine((text) => !refusedResponseHeaders.has(text.toLowerCase()), why)
    : name;
  return z
    .strictObject({
      add: z
        .record(name, mayHoldSecret(headerValue()))
        .default({})
        .meta({ description: 'Appended; lines of that name that are there already stay.' }),
      set: z
        .record(setName, mayHoldSecret(headerValue()))
        .default({})
        .meta({ description: 'Written in place of every line of that name.' }),
      remove: z.array(name).max(256).default([]).meta({ description: 'Names whose lines are dropped.' }),
    })
    .superRefine((settings, ctx) => {
      const seen = new Set<string>();
      for (const [key, value] of Object.entries(settings.set)) {
        const isHost = refused.has('host') && namesAuthority(key);
        const same = isHost ? 'host' : key.toLowerCase();
        if (seen.has(same))
          ctx.addIssue({
            code: 'custom',
            message: isHost ? 'the host is set twice' : 'set twice in different case',
            path: ['set', key],
          });
        seen.add(same);
        if (isHost && parseAuthority(value) === undefined)
          ctx.addIssue({
            code: 'custom',
            message: 'expected a host, with or without port',
            path: ['set', key],
          });
      }
    })
    .meta({ description });
};

/** `host` can be set, and neither added to nor removed. */
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

export const requestHeaderModifierFacts = {
  schema: requestHeaderModifierSchema,
  on: ['route', 'backend', 'service', 'target'],
  about: 'connection',
} as const satisfies PolicyFacts;

export const responseHeaderModifierFacts = {
  schema: responseHeaderModifierSchema,
  on: ['route', 'backend', 'service'],
  about: 'request',
} as const satisfies PolicyFacts;

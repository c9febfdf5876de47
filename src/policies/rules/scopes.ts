/** Scopes of OAuth tokens, and rules that demand them. */

import { z } from 'zod';
import { bearerChallenge } from '../../auth/index.ts';
import type { StepUp } from '../../mcp/contract.ts';
import type { Exchange, Identity } from '../policy.ts';

/** RFC 6749 §3.3. */
export const scope = z
  .string()
  .max(128)
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+$/,
    'expected a scope: printable ASCII without spaces, quotes and backslashes',
  );

/** The scopes that each scope includes. */
export type ScopeHierarchy = Readonly<Record<string, readonly string[]>>;

const maxScopes = 256;

export const scopeHierarchy = z
  .record(scope, z.array(scope).max(64))
  .superRefine((hierarchy, ctx) => {
    const entries = Object.entries(hierarchy);
    if (entries.length > maxScopes)
      ctx.addIssue({ code: 'custom', message: `more than ${maxScopes} scopes` });
    for (const [name, included] of entries)
      if (included.some((one) => includedIn(hierarchy, one).has(name))) {
        const message = `the scope ${name} includes itself`;
        ctx.addIssue({ code: 'custom', message, path: [name] });
      }
  })
  .meta({
    description: 'The scopes that a scope includes, such as `admin: [write]`; included scopes count, too.',
  });

/** The scope, and all that it includes. */
function includedIn(hierarchy: ScopeHierarchy, name: string): ReadonlySet<string> {
  const found = new Set([name]);
  for (const one of found)
    if (Object.hasOwn(hierarchy, one)) for (const included of hierarchy[one] ?? []) found.add(included);
  return found;
}

/** The scopes that a caller has: those of `scope` and `scp`, with all that they include. */
export type HeldScopes = (identity: Identity | undefined) => ReadonlySet<string>;

const none: ReadonlySet<string> = new Set();

export function heldScopes(hierarchy: ScopeHierarchy = {}): HeldScopes {
  const known = new WeakMap<Identity, ReadonlySet<string>>();
  return (identity) => {
    if (identity === undefined) return none;
    let held = known.get(identity);
    if (held === undefined) {
      const { scope: text, scp } = identity.claims;
      held = new Set([...namesOf(text), ...namesOf(scp)].flatMap((one) => [...includedIn(hierarchy, one)]));
      known.set(identity, held);
    }
    return held;
  };
}

/** A claim is a text with spaces (RFC 8693 §4.2), or a list of texts. */
function namesOf(claim: unknown): readonly string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((one) => one !== '');
  return Array.isArray(claim) ? claim.filter((one) => typeof one === 'string') : [];
}

/** The scopes of several rule sets, each of them once. */
export const allScopes = (sets: readonly { readonly scopes: readonly string[] }[]): readonly string[] => [
  ...new Set(sets.flatMap(({ scopes }) => scopes)),
];

/** The way for a client to get the scopes that a request needs. */
export function stepUpOf(exchange: Exchange, scopes: readonly string[]): StepUp {
  const isAnonymous = exchange.identity === undefined;
  const resourceMetadata = exchange.metadataUrl?.(exchange);
  const challenge = bearerChallenge({
    // Without a token there is nothing to say about it (RFC 6750 §3.1).
    lacksScope: !isAnonymous,
    ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
    scope: scopes.join(' '),
  });
  return { scopes, challenge, isAnonymous };
}

import type { Settings } from './config.ts';

/** The principal of a token: a client by itself, or a user that logged in through one. */
export interface Grantee {
  readonly clientId: string;
  readonly user?: string | undefined;
  readonly scopes: readonly string[];
}

/** The claims that make a token look like the hosted server's: `cid`, `scp` as a list, `groups`, and configured ones. */
export function grantClaims(
  settings: Settings,
  { clientId, user, scopes }: Grantee,
): Record<string, unknown> {
  const subject =
    user === undefined
      ? settings.clients.find(({ id }) => id === clientId)
      : settings.users.find(({ name }) => name === user);
  return { ...subject?.claims, cid: clientId, scp: [...scopes], groups: [...(subject?.groups ?? [])] };
}

/** The `aud` of tokens for a client. */
export function audienceOf(settings: Settings, clientId: string): string {
  return settings.clients.find(({ id }) => id === clientId)?.audience ?? settings.audience;
}

/** Seconds that a client's access tokens live. */
export function lifetimeOf(settings: Settings, clientId: string): number {
  return settings.clients.find(({ id }) => id === clientId)?.tokenLifetime ?? settings.tokenLifetime;
}

/** The scopes a client gets when it asks for none: all it may have. */
export function defaultScopes(settings: Settings, clientId: string): readonly string[] {
  const allowed = settings.clients.find(({ id }) => id === clientId)?.scopes;
  return settings.scopes.filter((name) => !allowed || allowed.includes(name));
}

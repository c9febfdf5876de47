import type { KoaContextWithOIDC, Provider, interactionPolicy as policies } from 'oidc-provider';
import { defaultScopes } from './claims.ts';
import type { Settings } from './config.ts';
import { errors, interactionPolicy } from './engine.ts';

const settledBefore: unknown[] = ['authorization_code', 'refresh_token'];

/** Gives a request without scopes the default ones, and refuses one for a scope that does not exist (RFC 6749 §3.3). */
export function settleScopes(settings: Settings, ctx: KoaContextWithOIDC, clientId: string): void {
  const { params, route } = ctx.oidc;
  // The scopes were settled before: with the code, the refresh token or the request that is resumed.
  if (!params || route === 'resume' || settledBefore.includes(params['grant_type'])) return;
  params['scope'] ??= defaultScopes(settings, clientId).join(' ');
  // OpenID Connect's own scopes are about a user; a client by itself has none.
  const known =
    route === 'authorization' ? [...settings.scopes, 'openid', 'offline_access'] : settings.scopes;
  const unknown = String(params['scope'])
    .split(' ')
    .find((scope) => !known.includes(scope));
  if (unknown !== undefined) throw new errors.InvalidScope('no such scope', unknown);
}

/** The login page stands for the consent as well; a client that insists on a consent prompt gets the same page. */
export function loginPolicy(): policies.DefaultPolicy {
  const prompts = interactionPolicy.base();
  prompts.remove('consent');
  prompts.add(new interactionPolicy.Prompt({ name: 'consent', requestable: true }));
  return prompts;
}

/** Grants what was asked for: the user has seen it on the login page. */
export async function grantAll(ctx: KoaContextWithOIDC): Promise<InstanceType<Provider['Grant']>> {
  const { oidc } = ctx;
  const grant = new oidc.provider.Grant({
    clientId: oidc.client?.clientId,
    accountId: oidc.session?.accountId,
  });
  const asked = oidc.params?.['scope'];
  const scope = typeof asked === 'string' ? asked : '';
  grant.addOIDCScope(scope);
  for (const resource of Object.keys(oidc.resourceServers ?? {})) grant.addResourceScope(resource, scope);
  await grant.save();
  return grant;
}

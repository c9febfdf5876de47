import { createVerifier, type TokenReason, type Verdict } from '../../auth/index.ts';
import { GatewayError } from '../../errors.ts';
import type { Exchange, PolicyTools } from '../policy.ts';
import { tokenReader } from './credential.ts';
import { bearer, type Jwks, type modes, type TokenLocation } from './schema.ts';

export interface Provider {
  readonly issuer: string;
  readonly audiences?: readonly string[] | undefined;
  readonly jwks: Jwks;
  readonly jwtValidationOptions?:
    { readonly requiredClaims: readonly string[]; readonly leeway?: number | undefined } | undefined;
}

export interface AuthenticationSettings {
  readonly mode: (typeof modes)[number];
  /** Names the policy in the log. */
  readonly policy: string;
  readonly location: TokenLocation | undefined;
  readonly providers: readonly Provider[];
  /** The error for a refused caller; `refused` is absent if no token was presented. */
  readonly refuse: (exchange: Exchange, refused: TokenReason | undefined) => GatewayError;
}

export interface Authenticator {
  /** Sets `exchange.identity`, or throws the refusal. Waits only where a key has to be fetched for this token. */
  authenticate(exchange: Exchange): void | Promise<void>;
  /** As of `Steps`. */
  watchCaller(exchange: Exchange, end: () => void): () => void;
  /** As of `Steps`. */
  credentials(exchange: Exchange): readonly string[];
  /** Names a file of keys that was never usable. */
  problem(): string | undefined;
  close(): void;
}

function placeOf(location: TokenLocation): string {
  if (location.kind === 'expression') return 'an expression';
  const prefix =
    location.kind === 'header' && location.prefix !== '' ? ` after ${location.prefix.trim()}` : '';
  return `${location.kind} ${location.name}${prefix}`;
}

/** For the log: the reason, the claim, and the expected and received values of that claim alone. */
function toldReason({ reason, claim, detail }: Verdict & { kind: 'refused' }): string {
  const what = claim === undefined ? reason : `${reason} (${claim})`;
  return detail === undefined ? what : `${what}: ${detail}`;
}

const defaultLeewayMs = 10_000;
const defaultRequiredClaims = ['exp'];
/** Seconds after which a client may ask again while the keys are not there. */
const retryAfter = 5;

/** The common part of `jwtAuth` and `mcpAuthentication`. */
export function createAuthenticator(settings: AuthenticationSettings, tools: PolicyTools): Authenticator {
  const leases = takeKeySets(settings.providers, tools);
  const issuers = settings.providers.map((provider, index) => ({
    issuer: provider.issuer,
    audiences: provider.audiences ?? [],
    requiredClaims: provider.jwtValidationOptions?.requiredClaims ?? defaultRequiredClaims,
    leewayMs: provider.jwtValidationOptions?.leeway ?? defaultLeewayMs,
    keys: (leases[index] as (typeof leases)[number]).set,
  }));
  const verifier = createVerifier(issuers, tools.now);
  const { mode, policy, refuse, location = bearer } = settings;
  const credential = tokenReader(location, policy);
  if (location.kind === 'query')
    tools.log.warn(`${policy}: tokens in URLs end up in logs and browser histories`, {
      parameter: location.name,
    });

  function settle(exchange: Exchange, token: string, verdict: Verdict): void {
    if (verdict.kind === 'unproven') {
      exchange.identity = verdict.token;
      exchange.trial?.note('the signature of the token was not checked');
      return;
    }
    if (verdict.kind === 'verified') {
      exchange.identity = verdict.token;
      exchange.token = token;
      return;
    }
    if (verdict.kind === 'refused') {
      exchange.request.annotate('token', toldReason(verdict));
      if (mode !== 'permissive') throw refuse(exchange, verdict.reason);
    } else if (mode !== 'permissive') {
      throw withoutKeys(verdict.issuer);
    }
  }

  /** An address may answer soon; a file needs its operator, like every other file that is missing. */
  function withoutKeys(issuer: string): GatewayError {
    const at = settings.providers.findIndex((provider) => provider.issuer === issuer);
    const detail = fileProblem(at);
    return detail === undefined
      ? new GatewayError('keys_unavailable', { retryAfter })
      : new GatewayError('policy_failed', { detail });
  }

  function fileProblem(at: number): string | undefined {
    const jwks = settings.providers[at]?.jwks;
    return jwks?.kind === 'file' && leases[at]?.set.ready === false
      ? `jwks: ${jwks.file}: there are no keys in it, or it cannot be read`
      : undefined;
  }

  return {
    authenticate(exchange) {
      const { trial } = exchange;
      if (trial?.claims !== undefined) return settle(exchange, '', verifier.judge(trial.claims));
      const token = credential.read(exchange);
      if (token === undefined) {
        if (mode === 'strict') {
          exchange.request.annotate('token', `missing: expected in ${placeOf(location)}`);
          throw refuse(exchange, undefined);
        }
        return undefined;
      }
      credential.strip(exchange, token);
      const verdict = trial === undefined ? verifier.verify(token) : verifier.explain(token);
      if (verdict instanceof Promise) return verdict.then((late) => settle(exchange, token, late));
      return settle(exchange, token, verdict);
    },
    watchCaller: ({ token }, end) => (token === undefined ? () => undefined : verifier.watch(token, end)),
    credentials: (exchange) => credential.texts(exchange),
    problem() {
      return settings.providers.map((_, at) => fileProblem(at)).find((problem) => problem !== undefined);
    },
    close() {
      for (const lease of leases) lease.release();
    },
  };
}

/** All or none: a set that cannot be used must not leave the others held. */
function takeKeySets(providers: readonly Provider[], tools: PolicyTools) {
  const leases: ReturnType<PolicyTools['keySets']['use']>[] = [];
  try {
    for (const { jwks } of providers) leases.push(tools.keySets.use(guardedIf(tools.guarded, jwks)));
    return leases;
  } catch (error) {
    for (const lease of leases) lease.release();
    throw error;
  }
}

/** Files and inline sets are fetched from nowhere. */
export const guardedIf = (guarded: boolean | undefined, source: Provider['jwks']): Provider['jwks'] =>
  guarded === true && (source.kind === 'url' || source.kind === 'discovered')
    ? { ...source, guarded }
    : source;

import { algorithmNames, createIssuerMetadata } from '../../auth/index.ts';
import type { PolicyTools } from '../policy.ts';

import { WatchedText } from '../text/watchedText.ts';
import type { MetadataSource } from './facts.ts';

/** What a provider says of itself (OpenID Connect Discovery §3). */
export interface ProviderMetadata {
  /** The document; undefined where it cannot be had. */
  get(): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** The reason why a file cannot be used. */
  problem(): string | undefined;
  close(): void;
}

/** Reads the metadata of a provider from its source: written fields, a text, a file, or its address. */
export function providerMetadata(
  source: MetadataSource,
  issuer: string,
  { log, now, guarded = false }: Pick<PolicyTools, 'log' | 'now' | 'guarded'>,
): ProviderMetadata {
  switch (source.kind) {
    case 'explicit':
      return fixed({
        issuer,
        authorization_endpoint: source.authorizationEndpoint,
        token_endpoint: source.tokenEndpoint,
        // Nothing says which algorithms the provider uses; its keys decide.
        id_token_signing_alg_values_supported: algorithmNames,
      });
    case 'inline':
      return fixed(documentOf(source.text, issuer));
    case 'file': {
      const read = (text: string): Readonly<Record<string, unknown>> => documentOf(text, issuer);
      const watched = new WatchedText(source, { name: 'oidc.discovery', read, log });
      return {
        // A file that cannot be used is an error of the policy; this rejects with it.
        get: () => new Promise((resolve) => resolve(watched.value)),
        problem: () => watched.problem,
        close: () => watched.close(),
      };
    }
    case 'issuer':
    case 'url': {
      const url = source.kind === 'url' ? { url: source.url } : {};
      const metadata = createIssuerMetadata({ issuer, openid: true, log, now, guarded, ...url });
      return { get: () => metadata.get(), problem: () => undefined, close: () => metadata.close() };
    }
  }
}

const fixed = (document: Readonly<Record<string, unknown>>): ProviderMetadata => ({
  get: () => Promise.resolve(document),
  problem: () => undefined,
  close: () => undefined,
});

/** @throws Error for a text that is no document of this issuer; its words do not quote the text */
function documentOf(text: string, issuer: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('not a JSON object');
  const document = value as Record<string, unknown>;
  if (document.issuer !== issuer) throw new Error('the document names another issuer');
  return document;
}

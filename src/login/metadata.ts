/** The documents that tell a client where to log in: of the protected resource, and of the authorization server. */

import { metadataAt, metadataUrls } from '../auth/index.ts';
import { messageOf } from '../errorText.ts';

type Document = Readonly<Record<string, unknown>>;

export const timeoutMs = 10_000;

/** The metadata of a protected resource (RFC 9728), as its route gives it to every client. */
export interface Resource {
  readonly url: string;
  readonly document: Document;
  /** The identifier of the resource, for the parameter `resource` (RFC 8707). */
  readonly resource: string | undefined;
  readonly servers: readonly string[];
  readonly scopes: readonly string[];
}

/**
 * Reads the metadata of the resource that a route is.
 * @param address the address of the route, as its clients use it
 * @returns undefined where the route has none
 * @throws Error where the gateway does not answer
 */
export async function resourceOf(address: string, send: typeof fetch): Promise<Resource | undefined> {
  const { origin, pathname } = new URL(address);
  const url = `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
  const response = await send(url, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.status !== 200) return undefined;
  const document = objectIn(await response.text());
  if (document === undefined) return undefined;
  const { resource } = document;
  return {
    url,
    document,
    resource: typeof resource === 'string' ? resource : undefined,
    servers: textsIn(document['authorization_servers']),
    scopes: textsIn(document['scopes_supported']),
  };
}

/**
 * Reads the metadata of an authorization server (RFC 8414, OpenID Connect Discovery) at the usual paths.
 * @throws Error with the reason for each path
 */
export async function serverMetadata(
  issuer: string,
  send: typeof fetch,
): Promise<{ readonly url: string; readonly document: Document }> {
  const problems: string[] = [];
  for (const url of metadataUrls(issuer, false))
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const document = await metadataAt(url, { issuer, fetch: send, sameOrigin: true, timeoutMs, signal });
      return { url, document };
    } catch (error) {
      problems.push(`${url}: ${messageOf(error)}`);
    }
  throw new Error(problems.length === 0 ? 'the issuer is not a URL' : problems.join('; '));
}

/** A JSON object in a text; undefined for another text. */
export function objectIn(text: string): Document | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Document) : undefined;
  } catch {
    return undefined;
  }
}

export const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

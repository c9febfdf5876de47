import { resourceMetadata } from '../../auth/index.ts';
import type { Reply } from '../../http/index.ts';
import type { Exchange } from '../policy.ts';

/** The newest revision of the protocol that `initialize` agrees on. */
const protocolVersion = '2025-11-25';

/** The place of a resource, as its client sees it. */
export interface ResourcePlace {
  /** Scheme and authority. */
  readonly origin: string;
  /** Begins with a slash, or empty for the root. */
  readonly path: string;
}

/**
 * The origin under which clients reach the route: of the configured `resource` where there is one, otherwise what this
 * request was sent to. Anybody can write `Host`, so the answer is for the client that wrote it, and no cache keeps it.
 */
export function originOf(exchange: Exchange, configured: unknown): string {
  const resource = typeof configured === 'string' ? URL.parse(configured) : null;
  if (resource !== null) return resource.origin;
  const { shownScheme: scheme, shownAuthority: authority } = exchange.request;
  // The usual port is no part of an origin (RFC 6454 §6.1), and clients compare addresses as text.
  return `${scheme}://${authority.replace(scheme === 'https' ? /:443$/ : /:80$/, '')}`;
}

/** RFC 9728 §3.1: the well-known part stands before the path of the resource. */
export function metadataUrl(place: ResourcePlace): string {
  return `${place.origin}/.well-known/oauth-protected-resource${place.path}`;
}

export function resourceDocument(
  place: ResourcePlace,
  authorizationServers: readonly string[],
  overrides: Readonly<Record<string, unknown>>,
): Reply {
  const document = resourceMetadata({
    resource: `${place.origin}${place.path}`,
    authorizationServers,
    overrides: { mcpProtocolVersion: protocolVersion, ...overrides },
  });
  return json(document);
}

/** Public documents: any page may read them (RFC 9728 §3, MCP clients in browsers). */
export const json = (document: unknown): Reply => ({
  status: 200,
  headers: [['content-type', 'application/json'], noStore, ...open],
  body: JSON.stringify(document),
});

const noStore = ['cache-control', 'no-store'] as const;

const open = [['access-control-allow-origin', '*']] as const;

/** GET and HEAD pass; a preflight is answered, anything else is refused. */
export function unlessRead(exchange: Exchange): Reply | undefined {
  switch (exchange.request.method) {
    case 'GET':
    case 'HEAD':
      return undefined;
    case 'OPTIONS':
      return {
        status: 204,
        headers: [
          ...open,
          ['access-control-allow-methods', 'GET, HEAD'],
          ['access-control-allow-headers', '*'],
          ['access-control-max-age', '600'],
        ],
      };
    default:
      return { status: 405, headers: [['allow', 'GET, HEAD, OPTIONS'], ...open] };
  }
}

export interface ResourceMetadata {
  /** The address of the protected resource: scheme, authority and path as the client uses them. */
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  /** Members that replace or join the derived ones; names in camelCase become snake_case. */
  readonly overrides: Readonly<Record<string, unknown>>;
}

/** The protected resource metadata document (RFC 9728 §2). */
export function resourceMetadata(facts: ResourceMetadata): Record<string, unknown> {
  const document: Record<string, unknown> = {
    resource: facts.resource,
    authorization_servers: facts.authorizationServers,
    resource_type: 'mcp-server',
  };
  for (const [name, value] of Object.entries(facts.overrides)) document[snakeCase(name)] = value;
  return document;
}

/** `scopesSupported` → `scopes_supported`; `jwksURI` → `jwks_uri`. */
export const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();

/**
 * The two eras of MCP. A session of the legacy era begins with `initialize`; revision 2026-07-28 begins the modern era,
 * in which each request carries its revision and the capabilities of its client.
 */

/** The era in which a client or a server speaks. */
export type Era = 'legacy' | 'modern';

/** The revision of the modern era that the gateway speaks. */
export const modernVersion = '2026-07-28';

/** Keys of `_meta` in messages of the modern era (2026-07-28, Basic, `_meta`). */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** JSON-RPC errors that the modern era adds (schema 2026-07-28). */
export const modernErrors = {
  /** `HeaderMismatch`: a header and the body of a request disagree. */
  headerMismatch: -32020,
  /** `MissingRequiredClientCapability`: the request needs a capability that its client did not declare. */
  missingCapability: -32021,
  /** `UnsupportedProtocolVersion`: `data.supported` lists the revisions that the server speaks. */
  unsupportedVersion: -32022,
} as const;

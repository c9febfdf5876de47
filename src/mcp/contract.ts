/** What `mcp` and its neighbours agree on. */

/** A thing an MCP server offers, as rules see it. */
export interface McpItem {
  readonly kind: 'tool' | 'prompt' | 'resource';
  /** Name of the target that serves it. */
  readonly target: string;
  /** The target's own name for it (a URI for resources), without a prefix of ours. */
  readonly name: string;
}

/** Who is calling an MCP endpoint. */
export interface Caller {
  /** Issuer and subject of the verified token joined by a newline; absent for anonymous callers. Sessions belong to it. */
  readonly principal: string | undefined;
  /** When the token that proved it ends, in milliseconds since the epoch; a stream of news does not outlive it. */
  readonly expiresAt?: number;
  /** May the caller see and use the item? Absent where the route has no rule about items. */
  readonly mayUse?: (item: McpItem) => boolean;
}

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
  /** Who was proven to be calling, as opaque text; absent for anonymous callers. Sessions belong to it. */
  readonly principal: string | undefined;
  /** When the token that proved it ends, in milliseconds since the epoch; a stream of news does not outlive it. */
  readonly expiresAt?: number;
  /** May the caller see and use the item? Absent where the route has no rule about items. */
  readonly mayUse?: (item: McpItem) => boolean;
  /**
   * For what would go on for as long as the client stays: `end` is called once the rules that let the caller in may say
   * something else. Absent for requests that end by themselves.
   * @returns what takes it back
   */
  readonly whileAllowed?: (end: () => void) => () => void;
}

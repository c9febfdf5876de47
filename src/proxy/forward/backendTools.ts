import type { McpRuntime } from '../../mcp/index.ts';
import type { Destination, Endpoints } from '../../upstream/index.ts';

/** The parts of the process that backends need. */
export interface BackendTools {
  readonly endpoints: Endpoints;
  readonly mcp: Pick<McpRuntime, 'backend'>;
  /** Told which destinations and MCP backends a snapshot uses, so that the others can be let go. */
  readonly uses: { readonly destinations: Set<Destination>; readonly mcp: Set<string> };
}

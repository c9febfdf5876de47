import type { Named } from './meta.ts';
import type { PolicyStatus } from './policies.ts';

/** McpBackend of `portcullis.dev/v1alpha1`: MCP servers, as backends of HTTPRoutes. */
export interface McpBackend extends Named {
  /** Read by the schema that the CRD is made of (`translate/mcpSchema.ts`). */
  readonly spec?: unknown;
  readonly status?: PolicyStatus;
}

import type { RouteView } from '../api/types.ts';
import { credentialHeader } from '../connect/credentials.ts';
import { McpSession } from '../playground/mcpSession.ts';
import { toolIn } from '../playground/serverData.ts';

/**
 * The names of the tools that a route lists for a caller. It opens a session for that, and ends it.
 * @throws McpError for a refusal or an error; ApiError where the admin API refused
 */
export async function listTools(route: RouteView, credential: string): Promise<readonly string[]> {
  const session = new McpSession({
    route: route.id,
    path: route.path ?? '/',
    credential: credentialHeader(route, credential),
    revision: '2025-11-25',
    onChange: () => undefined,
    onItems: () => undefined,
  });
  try {
    await session.open();
    return (await session.list('tools/list', 'tools', toolIn)).map(({ name }) => name);
  } finally {
    await session.close();
  }
}

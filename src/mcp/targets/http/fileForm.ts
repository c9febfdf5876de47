import type { RemoteTarget } from '../../../model/index.ts';
import { fileForm } from '../kind/targetFacts.ts';
import { remoteServer } from './remoteServer.ts';

export const httpFile = fileForm({
  field: 'mcp',
  description: 'An MCP server that is spoken to over Streamable HTTP.',
  schema: remoteServer,
  namesBackend: 'backend',
  build: ({ at, backend, path }, { name, timeouts, policies, connection }): RemoteTarget => ({
    kind: 'http',
    name,
    path,
    ...connection(at, backend),
    ...timeouts,
    ...(policies.length === 0 ? {} : { policies }),
  }),
});

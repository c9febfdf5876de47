import type { RemoteTarget } from '../../../model/index.ts';
import { fileForm, type TargetFacts } from '../kind/targetFacts.ts';
import { httpInCluster } from './clusterForms.ts';
import { remoteServer } from './remoteServer.ts';

/** An MCP server that is spoken to over Streamable HTTP. */
export const httpFacts = {
  over: 'network',
  resumable: true,
  identity: ({ host, port, path, endpoints, tls }) => [
    host,
    port,
    path,
    endpoints ?? null,
    tls !== undefined,
  ],
  explain: (target, { url, calls }) => {
    const policies = (target.policies ?? []).map(({ name }) => name).join(', ');
    return { server: url(target), details: [...(policies === '' ? [] : [policies]), ...calls] };
  },
  file: fileForm({
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
  }),
  cluster: httpInCluster,
} as const satisfies TargetFacts<RemoteTarget>;

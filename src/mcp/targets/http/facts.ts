import type { RemoteTarget } from '../../../model/index.ts';
import type { TargetFacts } from '../kind/targetFacts.ts';
import { httpInCluster } from './clusterForms.ts';
import { httpFile } from './fileForm.ts';

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
  file: httpFile,
  cluster: httpInCluster,
} as const satisfies TargetFacts<RemoteTarget>;

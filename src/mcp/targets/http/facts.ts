import type { RemoteTarget } from '../../../model/index.ts';
import { networkFacts, networkTarget } from '../kind/networkFacts.ts';
import { hostInCluster, serviceInCluster } from '../kind/remoteInCluster.ts';
import { servicesInCluster } from '../kind/servicesInCluster.ts';
import { remoteServer } from '../kind/remoteServer.ts';
import { fileForm, type TargetFacts } from '../kind/targetFacts.ts';

const usualPath = '/mcp';
const inCluster = {
  usualPath,
  transport: 'Streamable HTTP',
  make: (target: Omit<RemoteTarget, 'kind'>): RemoteTarget => ({ kind: 'http', ...target }),
};

/** An MCP server that is spoken to over Streamable HTTP. */
export const httpFacts = {
  ...networkFacts,
  over: 'network',
  eitherEra: true,
  resumable: true,
  revivable: () => true,
  file: fileForm({
    field: 'mcp',
    description: 'An MCP server that is spoken to over Streamable HTTP.',
    schema: remoteServer(usualPath),
    namesBackend: 'backend',
    build: (settings, around): RemoteTarget => ({ kind: 'http', ...networkTarget(settings, around) }),
  }),
  cluster: [
    serviceInCluster({ field: 'service', ...inCluster }),
    hostInCluster({ field: 'host', ...inCluster }),
    servicesInCluster({ field: 'selector', ...inCluster }),
  ],
} as const satisfies TargetFacts<RemoteTarget>;

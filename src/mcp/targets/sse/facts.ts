import type { SseTarget } from '../../../model/index.ts';
import { networkFacts, networkTarget } from '../kind/networkFacts.ts';
import { hostInCluster, serviceInCluster } from '../kind/remoteInCluster.ts';
import { servicesInCluster } from '../kind/servicesInCluster.ts';
import { remoteServer } from '../kind/remoteServer.ts';
import { fileForm, type TargetFacts } from '../kind/targetFacts.ts';

const usualPath = '/sse';
const inCluster = {
  usualPath,
  transport: 'HTTP+SSE (MCP 2024-11-05)',
  make: (target: Omit<SseTarget, 'kind'>): SseTarget => ({ kind: 'sse', ...target }),
};

/** An MCP server that is spoken to over HTTP+SSE, the transport of the revision 2024-11-05. */
export const sseFacts = {
  ...networkFacts,
  over: 'network',
  eitherEra: false,
  // A session is the connection of its event stream.
  resumable: false,
  revivable: () => true,
  file: fileForm({
    field: 'sse',
    description: 'An MCP server that is spoken to over HTTP+SSE, the transport of MCP 2024-11-05.',
    schema: remoteServer(usualPath),
    namesBackend: 'backend',
    build: (settings, around): SseTarget => ({ kind: 'sse', ...networkTarget(settings, around) }),
  }),
  cluster: [
    serviceInCluster({ field: 'sseService', ...inCluster }),
    hostInCluster({ field: 'sseHost', ...inCluster }),
    servicesInCluster({ field: 'sseSelector', ...inCluster }),
  ],
} as const satisfies TargetFacts<SseTarget>;

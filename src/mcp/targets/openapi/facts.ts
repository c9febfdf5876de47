import type { OpenApiTarget } from '../../../model/index.ts';
import { networkFacts } from '../kind/networkFacts.ts';
import type { TargetFacts } from '../kind/targetFacts.ts';
import { openapiInCluster } from './openapiInCluster.ts';
import { openapiFile } from './openapiFile.ts';

/** An HTTP API that the gateway serves as an MCP server, as its OpenAPI description says. */
export const openapiFacts = {
  ...networkFacts,
  over: 'network',
  eitherEra: false,
  // The gateway itself is the server, and keeps no state for a session.
  resumable: true,
  revivable: () => true,
  explain: (target, words) => {
    const { server, details } = networkFacts.explain(target, words);
    return { server, details: [sourceText(target), ...details] };
  },
  warnings: ({ source }) => (source.kind === 'read' ? source.warnings : []),
  toolNames: ({ source }) =>
    source.kind === 'read' ? source.api.operations.map(({ tool }) => tool.name) : undefined,
  itemSource: ({ source }) => source,
  readFiles: ({ source }) => (source.kind === 'read' ? (source.files ?? []) : []),
  file: openapiFile,
  cluster: [openapiInCluster],
} as const satisfies TargetFacts<OpenApiTarget>;

function sourceText({ source }: OpenApiTarget): string {
  if (source.kind === 'url') return `described at ${source.url}`;
  const { title, version, operations } = source.api;
  return `${title} ${version}: ${operations.length} tools`;
}

import type { DescribedApi, OpenApiTarget } from '../../../model/index.ts';
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
  tools: ({ source }) => (source.kind === 'read' ? namesIn(source.api) : undefined),
  file: openapiFile,
  cluster: [openapiInCluster],
} as const satisfies TargetFacts<OpenApiTarget>;

const known = new WeakMap<DescribedApi, ReadonlySet<string>>();

/** The names of the tools of an API. */
function namesIn(api: DescribedApi): ReadonlySet<string> {
  let names = known.get(api);
  if (names === undefined) known.set(api, (names = new Set(api.operations.map(({ tool }) => tool.name))));
  return names;
}

function sourceText({ source }: OpenApiTarget): string {
  if (source.kind === 'url') return `described at ${source.url}`;
  const { title, version, operations } = source.api;
  return `${title} ${version}: ${operations.length} tools`;
}

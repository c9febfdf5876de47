import {
  callTimeouts,
  takeExchanges,
  backendReferences,
  targetOfFile,
  type ConnectionSettings,
} from '../../mcp/targets/facts.ts';
import type { McpBackend, McpItemView, McpTarget, ViewEntry } from '../../model/index.ts';
import type { HostAndPort } from '../../schema/index.ts';
import type { Path } from '../path.ts';
import type { BackendPolicySettings, TargetPolicySettings } from '../schema/backendPolicies.ts';
import type { FederationSettings, McpSettings } from '../schema/mcp.ts';
import type { McpViewSettings } from '../schema/mcpView.ts';
import type { NamedBackendSettings } from '../schema/route.ts';
import type { Surroundings } from './surroundings.ts';
import { buildPolicies, policiesFor } from './policies.ts';
import { buildTarget, ownHostOf } from './target.ts';

type TargetSettings = McpSettings['targets'][number];

/**
 * The parts of an MCP backend that do not depend on where it is used.
 *
 * @param path where it is written
 * @param ofRoute policies of the route that are about its backends
 */
export function buildMcp(
  settings: McpSettings,
  path: Path,
  around: Surroundings,
  ofRoute: BackendPolicySettings,
): Omit<McpBackend, 'weight' | 'key' | 'place'> {
  return {
    kind: 'mcp',
    targets: settings.targets.map((target, index) =>
      buildMcpTarget(target, [...path, 'targets', index], around, ofRoute),
    ),
    ...buildFederation(settings),
    dnsRebindingProtection: settings.dnsRebindingProtection ?? false,
  };
}

/** The settings of several targets as one server. */
export const buildFederation = ({
  prefixMode = 'conditional',
  prefixSeparator,
  failureMode,
  targetWait,
  statefulMode,
  view,
  pin,
}: FederationSettings): Pick<
  McpBackend,
  'prefixMode' | 'prefixSeparator' | 'failOpen' | 'targetWaitMs' | 'stateless' | 'view' | 'pin'
> => ({
  prefixMode,
  ...(prefixSeparator !== undefined && { prefixSeparator }),
  ...(failureMode === 'failOpen' && { failOpen: true }),
  ...(targetWait !== undefined && { targetWaitMs: targetWait }),
  ...(statefulMode === 'stateless' && { stateless: true }),
  ...(pin !== undefined && { pin }),
  ...(view !== undefined && { view: buildView(view) }),
});

function buildView({ rest = 'hide', tools, prompts, resources }: McpViewSettings): McpItemView {
  return {
    rest,
    ...(tools && { tools: tools.map(buildEntry) }),
    ...(prompts && { prompts: prompts.map(buildEntry) }),
    ...(resources && {
      resources: resources.map(({ uri, ...entry }) => buildEntry({ name: uri, ...entry })),
    }),
  };
}

type WrittenEntry = NonNullable<McpViewSettings['tools']>[number];

const buildEntry = ({ target, name, hide, as, title, description }: WrittenEntry): ViewEntry => ({
  name,
  ...(target !== undefined && { target }),
  ...(hide === true && { hide }),
  ...(as !== undefined && { as }),
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
});

function buildMcpTarget(
  { name, policies = {}, resume = true, stateless = false, ...others }: TargetSettings,
  path: Path,
  around: Surroundings,
  ofRoute: BackendPolicySettings,
): McpTarget {
  const { written, taken, at: below } = takeExchanges(others);
  // Each of them is a policy that gets a token.
  const exchanges = Object.fromEntries(
    Object.entries(taken).map(([variable, exchange]) => [
      variable,
      buildPolicies({ backendAuth: exchange }, [...path, ...below, variable], around),
    ]),
  );
  const named = namedBackendOf(written, around);
  const target = targetOfFile(written, {
    exchanges,
    name,
    resume,
    stateless,
    timeouts: callTimeouts(written),
    policies: buildPolicies(
      policiesFor('target', { ...named?.policies, ...policies }),
      [...path, 'policies'],
      around,
    ),
    connection: (at, backend) => buildConnection(at, backend, policies, around, ofRoute),
  });
  if (target === undefined) throw new Error('a target without a transport passed the checks');
  return target;
}

/** The named backend that a target refers to. */
function namedBackendOf(
  target: Parameters<typeof targetOfFile>[0],
  { named }: Surroundings,
): NamedBackendSettings | undefined {
  const forms: Readonly<Record<string, unknown>> = { ...target };
  for (const [form, member] of backendReferences) {
    const settings = forms[form];
    const name: unknown =
      typeof settings === 'object' && settings !== null ? Reflect.get(settings, member) : undefined;
    if (typeof name === 'string') return named.get(name);
  }
  return undefined;
}

/** The destination of requests to a server, and the settings of connections; the setting closest to the server wins. */
function buildConnection(
  at: HostAndPort | undefined,
  backend: string | undefined,
  { backendTLS, http, tcp }: TargetPolicySettings,
  around: Surroundings,
  ofRoute: BackendPolicySettings,
): ConnectionSettings {
  const named = backend === undefined ? undefined : around.named.get(backend);
  const host = at ?? named?.host;
  if (host === undefined) throw new Error('a target without a host passed the checks');
  const own = { ...(backendTLS && { backendTLS }), ...(http && { http }), ...(tcp && { tcp }) };
  return {
    ...buildTarget(host, named?.addresses, { ...ofRoute, ...named?.policies, ...own }),
    ...ownHostOf(host),
  };
}

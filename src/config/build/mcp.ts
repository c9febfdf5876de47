import { policiesOn } from '../../policies/facts.ts';
import type { CallTimeouts, McpBackend, McpTarget, RemoteTarget, StdioTarget } from '../../model/index.ts';
import type { Path } from '../path.ts';
import type { BackendPolicySettings, TargetPolicySettings } from '../schema/backendPolicies.ts';
import type { McpSettings } from '../schema/mcp.ts';
import type { RemoteServer } from '../schema/remoteServer.ts';
import type { Surroundings } from './surroundings.ts';
import { buildPolicies } from './policies.ts';
import { buildTarget, ownHostOf } from './target.ts';

const startTimeoutMs = 60_000;

type TargetSettings = McpSettings['targets'][number];

/**
 * The parts of an MCP backend that do not depend on where it is used.
 *
 * @param path where it is written
 * @param ofRoute policies of the route that are about its backends
 */
export function buildMcp(
  settings: Omit<McpSettings, 'statefulMode' | 'failureMode'>,
  path: Path,
  around: Surroundings,
  ofRoute: BackendPolicySettings,
): Omit<McpBackend, 'weight' | 'key' | 'place'> {
  return {
    kind: 'mcp',
    targets: settings.targets.map((target, index) =>
      buildMcpTarget(target, [...path, 'targets', index], around, ofRoute),
    ),
    prefixMode: settings.prefixMode ?? 'conditional',
    dnsRebindingProtection: settings.dnsRebindingProtection ?? false,
  };
}

function buildMcpTarget(
  { name, stdio, mcp, policies = {}, resume = true, callTimeout, toolTimeouts }: TargetSettings,
  path: Path,
  around: Surroundings,
  ofRoute: BackendPolicySettings,
): McpTarget {
  const timeouts: CallTimeouts = {
    ...(callTimeout === undefined ? {} : { callTimeoutMs: callTimeout }),
    ...(toolTimeouts === undefined ? {} : { toolTimeoutsMs: toolTimeouts }),
  };
  if (stdio !== undefined) return { ...buildStdio(name, stdio, resume), ...timeouts };
  if (mcp === undefined) throw new Error('a target without a transport passed the checks');
  const uses = buildPolicies(stepsOf(policies), [...path, 'policies'], around);
  return {
    kind: 'http',
    name,
    path: mcp.path,
    ...buildRemote(mcp, policies, around, ofRoute),
    ...timeouts,
    ...(uses.length === 0 ? {} : { policies: uses }),
  };
}

const ofTargets: ReadonlySet<string> = new Set(policiesOn('target'));

/** The policies among the settings that are steps of a request. */
const stepsOf = (policies: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(policies).filter(([name]) => ofTargets.has(name)));

function buildStdio(name: string, stdio: NonNullable<TargetSettings['stdio']>, resume: boolean): StdioTarget {
  return {
    kind: 'stdio',
    name,
    cmd: stdio.cmd,
    args: stdio.args ?? [],
    env: stdio.env ?? {},
    clearEnv: stdio.clear_env ?? false,
    ...(stdio.cwd === undefined ? {} : { cwd: stdio.cwd }),
    startTimeoutMs: stdio.startTimeout ?? startTimeoutMs,
    ...(resume ? {} : { resume }),
  };
}

/** The destination of the requests to it, and their policies; the setting closest to the server wins. */
function buildRemote(
  { at, backend }: RemoteServer,
  { backendTLS, http, tcp }: TargetPolicySettings,
  around: Surroundings,
  ofRoute: BackendPolicySettings,
): Omit<RemoteTarget, 'kind' | 'name' | 'path' | 'policies'> {
  const named = backend === undefined ? undefined : around.named.get(backend);
  const host = at ?? named?.host;
  if (host === undefined) throw new Error('a target without a host passed the checks');
  const own = { ...(backendTLS && { backendTLS }), ...(http && { http }), ...(tcp && { tcp }) };
  return {
    ...buildTarget(host, named?.addresses, { ...ofRoute, ...named?.policies, ...own }),
    ...ownHostOf(host),
  };
}

import type { Backend, McpBackend, McpTarget, Place } from '../../../model/index.ts';
import type { Path } from '../path.ts';
import type { BackendPolicySettings } from '../schema/backendPolicies.ts';
import type { ProxyProtocolSettings } from '../schema/proxyProtocol.ts';
import type { McpSettings } from '../schema/mcp.ts';
import type { FrontendTls } from './serverTls.ts';
import type { BackendSettings, NamedBackendSettings } from '../schema/route.ts';
import { buildTarget as buildHttp } from './target.ts';

const startTimeoutMs = 60_000;

/** What building needs to know about the whole document. */
export interface Surroundings {
  place(path: Path): Place;
  /** Top-level `backends` by name. */
  readonly named: ReadonlyMap<string, NamedBackendSettings>;
  /** TLS of all listeners that say nothing else. */
  readonly frontendTls: FrontendTls;
  /** PROXY protocol of all ports that say nothing else. */
  readonly frontendProxy: ProxyProtocolSettings | undefined;
}

/**
 * @param key Identity of the backend; a reference to a named backend has the identity of that one instead.
 * @param ofRoute policies of the route that are about its backends
 */
export function buildBackend(
  settings: BackendSettings,
  key: string,
  path: Path,
  around: Surroundings,
  ofRoute: BackendPolicySettings = {},
): Backend {
  const reference = settings.backend;
  const found = reference === undefined ? settings : around.named.get(reference);
  const base = {
    weight: settings.weight ?? 1,
    key: reference === undefined ? key : `backend/${reference}`,
    place: around.place(path),
  };
  if (found?.host !== undefined) {
    // What stands closer to the backend wins.
    const policies = { ...ofRoute, ...found.policies, ...settings.policies };
    return { kind: 'http', ...base, ...buildHttp(found.host, found.addresses, policies) };
  }
  if (found?.mcp !== undefined) return { ...base, ...buildMcp(found.mcp) };
  throw new Error('a backend without a kind passed the checks');
}

/** The parts of an MCP backend that do not depend on where it stands. */
export function buildMcp(settings: McpSettings): Omit<McpBackend, 'weight' | 'key' | 'place'> {
  return {
    kind: 'mcp',
    targets: settings.targets.map(buildTarget),
    prefixMode: settings.prefixMode ?? 'conditional',
    failureMode: settings.failureMode ?? 'failClosed',
    dnsRebindingProtection: settings.dnsRebindingProtection ?? false,
  };
}

function buildTarget({ name, stdio }: McpSettings['targets'][number]): McpTarget {
  if (stdio === undefined) throw new Error('a target without a transport passed the checks');
  return {
    kind: 'stdio',
    name,
    cmd: stdio.cmd,
    args: stdio.args ?? [],
    env: stdio.env ?? {},
    clearEnv: stdio.clear_env ?? false,
    ...(stdio.cwd === undefined ? {} : { cwd: stdio.cwd }),
    startTimeoutMs: stdio.startTimeout ?? startTimeoutMs,
  };
}

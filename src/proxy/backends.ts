import { GatewayError } from '../errors.ts';
import type { Caller, McpHandler, McpItem, McpRuntime } from '../mcp/index.ts';
import type { Backend, HttpBackend, McpBackend, ProcessSettings } from '../model/index.ts';
import type { Forwarding } from '../policies/index.ts';
import { targetOf, type Destination, type Endpoints } from '../upstream/index.ts';
import type { LiveExchange } from './exchange.ts';
import { Forward } from './forward.ts';
import { compilePlan, type Plan } from './plan.ts';
import { PlannedForward } from './plannedForward.ts';

/** What backends need of the process. */
export interface BackendTools {
  readonly endpoints: Endpoints;
  readonly mcp: Pick<McpRuntime, 'backend'>;
  /** Told which destinations and MCP backends a snapshot uses, so that the others can be let go. */
  readonly uses: { readonly destinations: Set<Destination>; readonly mcp: Set<string> };
}

type Serve = (x: LiveExchange) => void;

/** How each kind of backend is made ready. A new kind is a row here. */
const kinds: {
  [Kind in Backend['kind']]: (
    backend: Extract<Backend, { kind: Kind }>,
    settings: ProcessSettings,
    tools: BackendTools,
    plan: Plan | undefined,
  ) => Serve;
} = { http: compileHttp, mcp: compileMcp };

/** Picks a backend by weight for each request and hands the request over. */
export function compileBackends(
  backends: readonly Backend[],
  settings: ProcessSettings,
  tools: BackendTools,
  forwarding?: Forwarding,
): Serve {
  const plan = forwarding === undefined ? undefined : compilePlan(forwarding, settings, tools);
  const live = backends.filter((backend) => backend.weight > 0);
  const serves = live.map((backend) => compile(backend, settings, tools, plan));
  const [only] = serves;
  if (only === undefined) return (x) => x.fail(new GatewayError('no_backend'));
  if (serves.length === 1) return only;
  const total = live.reduce((sum, backend) => sum + backend.weight, 0);
  return (x) => {
    let ticket = Math.random() * total;
    let index = 0;
    while (index < live.length - 1 && (ticket -= (live[index] as Backend).weight) >= 0) index++;
    (serves[index] as Serve)(x);
  };
}

function compile(
  backend: Backend,
  settings: ProcessSettings,
  tools: BackendTools,
  plan: Plan | undefined,
): Serve {
  return backend.kind === 'http'
    ? kinds.http(backend, settings, tools, plan)
    : kinds.mcp(backend, settings, tools, plan);
}

function compileHttp(
  backend: HttpBackend,
  settings: ProcessSettings,
  { endpoints, uses }: BackendTools,
  plan: Plan | undefined,
): Serve {
  const destination = endpoints.use(targetOf(backend), settings.upstream, settings.limits);
  uses.destinations.add(destination);
  if (plan === undefined) return (x) => new Forward(x, destination).start();
  return (x) => new PlannedForward(x, destination, plan).start();
}

function compileMcp(backend: McpBackend, _settings: ProcessSettings, { mcp, uses }: BackendTools): Serve {
  const handler: McpHandler = mcp.backend(backend);
  uses.mcp.add(backend.key);
  return (x) => {
    x.backendChosen(backend.key);
    handler.serve(x, x, callerOf(x));
  };
}

/** Who the session belongs to, and what the route's rules let them use. */
function callerOf(x: LiveExchange): Caller {
  const rules = x.route?.allowMcpItem ?? [];
  const exp = x.identity?.claims['exp'];
  return {
    principal: principalOf(x),
    ...(typeof exp === 'number' ? { expiresAt: exp * 1000 } : {}),
    ...(rules.length === 0 ? {} : { mayUse: (item: McpItem) => rules.every((rule) => rule(x, item)) }),
  };
}

/** Everything that was proven about the caller; undefined for an anonymous one. */
function principalOf({ identity, user, apiKey }: LiveExchange): string | undefined {
  const token = identity === undefined ? undefined : `${identity.issuer}\n${identity.subject}`;
  if (user === undefined && apiKey === undefined) return token;
  return JSON.stringify([token ?? null, user ?? null, apiKey?.id ?? null]);
}

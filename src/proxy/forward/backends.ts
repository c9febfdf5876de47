import { GatewayError } from '../../errors.ts';
import type { CallerWays, McpHandler } from '../../mcp/index.ts';
import type {
  Affinity,
  HttpBackend,
  InvalidBackend,
  McpBackend,
  PolicyUse,
  ProcessSettings,
  Route,
} from '../../model/index.ts';
import { affinityKey, type AffinityKey, type Forwarding, type Steps } from '../../policies/index.ts';
import { hashOf, targetOf, type Destination } from '../../upstream/index.ts';
import { withSteps } from './backendSteps.ts';
import type { BackendTools } from './backendTools.ts';
import { callerOf } from '../exchange/caller.ts';
import { compileConsole } from './consoleForward.ts';
import { byKey, bySession, byWeight, type Choice, type CompiledBackend } from './choice.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { Forward } from './forward.ts';
import { compileEnvironments, type EnvironmentsFor } from './childEnvironments.ts';
import { compileReach, type ReachesFor } from './mcpReach.ts';
import { Persistence } from '../routing/persistence.ts';
import { compilePlan, noPlan, type Plan } from './plan.ts';
import { PlannedForward } from './plannedForward.ts';
import { AffinityRouting } from '../routing/affinityRouting.ts';

type Serve = (exchange: LiveExchange) => void;
type Ready = Omit<CompiledBackend, 'backend'>;

/** Prepares policies of backends. */
type StepsOf = (uses: readonly PolicyUse[]) => readonly Steps[];

/**
 * Chooses a backend for each request, and an address of it where that is not left to chance; hands the request over.
 * @param place tells the route from all others
 * @param stepsOf prepares policies of a backend
 */
export function compileBackends(
  place: string,
  { backends, mirrors = [], policies }: Pick<Route, 'backends' | 'mirrors' | 'policies'>,
  settings: ProcessSettings,
  tools: BackendTools,
  forwarding: Forwarding = {},
  stepsOf: StepsOf = () => [],
): Serve {
  const common = compilePlan(forwarding, settings, tools, mirrors);
  const { persistence } = forwarding;
  // Sessions stay with a backend whose weight has become 0: it is to lose its clients one by one.
  const used = backends.filter(({ weight }) => weight > 0 || persistence !== undefined);
  const all = used.map((backend): CompiledBackend => {
    if (backend.kind === 'mcp')
      return {
        backend,
        ...compileMcp(
          backend,
          tools,
          withEnvironments(
            compileReach(backend, policies, settings, tools, stepsOf),
            compileEnvironments(backend, stepsOf),
          ),
        ),
      };
    if (backend.kind === 'invalid') return { backend, ...compileInvalid(backend) };
    if (backend.kind === 'console')
      return { backend, destination: undefined, serve: compileConsole(backend, settings.consoleDoor) };
    const own = backend.mirrors ?? [];
    const plan = own.length === 0 ? common : compilePlan(forwarding, settings, tools, [...mirrors, ...own]);
    const { destination, serve } = compileHttp(backend, settings, tools, plan);
    return { backend, destination, serve: withSteps(stepsOf(backend.policies ?? []), serve) };
  });
  const live = all.filter(({ backend }) => backend.weight > 0);
  const [only] = live;
  if (only === undefined && persistence === undefined)
    return (exchange) => exchange.fail(new GatewayError('no_backend'));
  if (only !== undefined && live.length === 1 && persistence === undefined) return only.serve;
  const source = commonSource(live);
  let choice: Choice = source === undefined ? byWeight(live) : byKey(live, affinityKey(source));
  if (persistence !== undefined) {
    const { sessionKey } = settings.fixed;
    const homes = all.map(({ backend: { key }, destination }) => destination && { key, destination });
    choice = bySession(all, new Persistence(persistence, sessionKey, place, homes), choice);
  }
  return (exchange) => {
    const chosen = choice(exchange);
    if (chosen === undefined) exchange.fail(new GatewayError('no_backend'));
    else chosen.serve(exchange);
  };
}

/** The affinity source that all backends share. */
function commonSource(live: readonly CompiledBackend[]): string | undefined {
  const [first, ...others] = live.map(({ backend }) =>
    backend.kind === 'http' ? backend.affinity?.source : undefined,
  );
  return others.every((source) => source === first) ? first : undefined;
}

function compileHttp(
  backend: HttpBackend,
  settings: ProcessSettings,
  { endpoints, uses }: BackendTools,
  plan: Plan | undefined,
): Ready {
  const destination = endpoints.use(targetOf(backend), settings.upstream, settings.limits);
  uses.destinations.add(destination);
  let serve: Serve =
    plan === undefined
      ? forwardTo(destination)
      : (exchange) => new PlannedForward(exchange, destination, plan).start();
  if (backend.requestTimeoutMs !== undefined) serve = withTimeout(backend.requestTimeoutMs, serve);
  return {
    destination,
    serve: backend.affinity === undefined ? serve : withAffinity(backend.affinity, serve),
  };
}

const withTimeout =
  (ms: number, forward: Serve): Serve =>
  (exchange) => {
    exchange.limitBackend(ms);
    forward(exchange);
  };

/**
 * All routes to the same place share one function, which keeps their common data in the caches of the processor.
 */
function forwardTo(destination: Destination): Serve {
  let serve = forwards.get(destination);
  if (serve === undefined) {
    serve = (exchange) =>
      (exchange.signer?.needsBody === true
        ? new PlannedForward(exchange, destination, noPlan)
        : new Forward(exchange, destination)
      ).start();
    forwards.set(destination, serve);
  }
  return serve;
}

const forwards = new WeakMap<Destination, Serve>();

/** Notes what the request is told apart by, before it is forwarded. */
function withAffinity({ source, loadFactor }: Affinity, forward: Serve): Serve {
  const keyOf = affinityKey(source);
  return (exchange) => {
    // The choice of the backend may have gone by it already.
    const key = exchange.affinity?.key ?? hashed(keyOf(exchange));
    if (key !== undefined) {
      const affinity = (exchange.affinity ??= new AffinityRouting());
      affinity.key = key;
      affinity.loadFactor = loadFactor;
    }
    forward(exchange);
  };
}

const hashed = (key: ReturnType<AffinityKey>): number | undefined =>
  key === undefined ? undefined : hashOf(key);

type WaysFor = (exchange: LiveExchange) => CallerWays | Promise<CallerWays>;

/** Adds the values of the caller for child processes, where some target has such values. */
function withEnvironments(reachFor: ReachesFor, environmentsFor: EnvironmentsFor | undefined): WaysFor {
  if (environmentsFor === undefined) return reachFor;
  return (exchange) => {
    const reaches = reachFor(exchange);
    const environments = environmentsFor(exchange);
    if (!(reaches instanceof Promise) && !(environments instanceof Promise))
      return { ...reaches, ...environments };
    return Promise.all([reaches, environments]).then(([one, other]) => ({ ...one, ...other }));
  };
}

function compileMcp(backend: McpBackend, { mcp, uses }: BackendTools, waysFor: WaysFor): Ready {
  const handler: McpHandler = mcp.backend(backend);
  uses.mcp.add(backend.key);
  return {
    destination: undefined,
    serve: (exchange) => {
      // A stream may stay open for long, and a call has a clock of its own, which stops while the client is asked.
      const callTimeoutMs = exchange.liftLimits();
      exchange.backendChosen(backend.key);
      const serve = (ways: CallerWays): void =>
        handler.serve(exchange, exchange, callerOf(exchange, ways, callTimeoutMs));
      const ways = waysFor(exchange);
      if (!(ways instanceof Promise)) serve(ways);
      else
        ways.then(
          (found) => {
            if (!exchange.closed) serve(found);
          },
          (error: unknown) => exchange.fail(error),
        );
    },
  };
}

/** Its share of the requests is refused: nobody else may get them. */
function compileInvalid({ problem }: InvalidBackend): Ready {
  return {
    destination: undefined,
    serve: (exchange) => exchange.fail(new GatewayError('no_backend', { detail: problem })),
  };
}

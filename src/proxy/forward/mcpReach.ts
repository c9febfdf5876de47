import { createHash } from 'node:crypto';
import { asGatewayError, GatewayError } from '../../errors.ts';
import { HeaderEdits, type SentCredential } from '../../http/index.ts';
import { isOverNetwork, type Caller, type Reach, type TargetOverNetwork } from '../../mcp/index.ts';
import type { McpBackend, PolicyUse, ProcessSettings, NetworkTarget } from '../../model/index.ts';
import { policiesForTargets, policiesOn, type Exchange, type Steps } from '../../policies/index.ts';
import { targetOf, type Destination, type Endpoints } from '../../upstream/index.ts';

/** Policies that may stand on a server. */
const ofTargets: ReadonlySet<string> = new Set(policiesOn('target'));
/** Policies that have a say in the requests of a session to a server, wherever they stand. */
const forTargets: ReadonlySet<string> = new Set(policiesForTargets);

export interface ReachTools {
  readonly endpoints: Endpoints;
  readonly uses: { readonly destinations: Set<Destination> };
}

/**
 * Says for each request of a client how the servers over the network are reached for it.
 * @param around policies of the route and its listener
 * @param stepsOf prepares policies
 * @throws Error for a policy that cannot stand on a target
 */
export function compileReach(
  backend: McpBackend,
  around: readonly PolicyUse[],
  settings: ProcessSettings,
  tools: ReachTools,
  stepsOf: (uses: readonly PolicyUse[]) => readonly Steps[],
): ReachesFor {
  const reaches = new Map<string, CompiledReach>();
  for (const target of backend.targets)
    if (isOverNetwork(target)) {
      const uses = usesOf(target, around);
      reaches.set(target.name, reachOf(target, uses, settings, tools, stepsOf));
    }
  if (reaches.size === 0) return () => ({});
  if ([...reaches.values()].every((reach) => typeof reach === 'object' && !('ask' in reach))) {
    const alike = { reach: (name: string) => reaches.get(name) as Reach | undefined, reachesAlike: true };
    return () => alike;
  }
  const asked = [...reaches].flatMap(([name, reach]) =>
    typeof reach === 'object' && 'ask' in reach ? [{ name, ask: reach.ask }] : [],
  );
  return (exchange) => {
    const known = new Map<string, Reach | GatewayError>();
    const sent: Sent = new Map();
    const waits = asked.flatMap(({ name, ask }) => {
      const note = (reach: Reach | GatewayError): void => void known.set(name, reach);
      const fail = (error: unknown): void => note(refusalOf(name, error));
      try {
        const found = ask(exchange, sent);
        if (found instanceof Promise) return [found.then(note, fail)];
        note(found);
      } catch (error) {
        fail(error);
      }
      return [];
    });
    const reachFor = (name: string): Reach | undefined => {
      const found = known.get(name);
      if (found instanceof GatewayError) throw found;
      const reach = reaches.get(name);
      if (found !== undefined || typeof reach !== 'function') return found ?? (reach as Reach | undefined);
      const made = reach(exchange, sent);
      known.set(name, made);
      return made;
    };
    const credentialsDigest = (): string | undefined => {
      for (const name of reaches.keys()) tried(() => reachFor(name));
      return digestOf(sent);
    };
    const caller: Reaches = { reach: reachFor, credentialsDigest };
    return waits.length === 0 ? caller : Promise.all(waits).then(() => caller);
  };
}

type Reaches = Pick<Caller, 'reach' | 'reachesAlike' | 'credentialsDigest'>;

/** Target → the credentials that policies noted for it, also where they were refused. */
type Sent = Map<string, readonly SentCredential[]>;

/** A target without a credential fails its own calls only. */
function tried(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

/** Undefined where no credential is one of the caller. */
function digestOf(sent: Sent): string | undefined {
  const own = [...sent].flatMap(([target, credentials]) =>
    credentials
      .filter((one) => one.of === 'caller')
      .map(({ place, digest }) => JSON.stringify([target, place, digest])),
  );
  if (own.length === 0) return undefined;
  return createHash('sha256').update(own.toSorted().join('\n')).digest('base64');
}

/** A promise while a credential for one of the servers is asked for. A server without one fails its own calls only. */
export type ReachesFor = (exchange: Exchange) => Reaches | Promise<Reaches>;

/** A function where policies have a say in each request; `ask` where they may have to wait. */
type CompiledReach =
  | Reach
  | ((exchange: Exchange, sent: Sent) => Reach)
  | { readonly ask: (exchange: Exchange, sent: Sent) => Reach | Promise<Reach> };

/** A credential that one server lacks: the client hears which one. */
export function refusalOf(target: string, thrown: unknown): GatewayError {
  const error = asGatewayError(thrown);
  return error.with({ message: `${error.message}: target "${target}"` });
}

/** The policy closest to the server wins. */
function usesOf({ policies = [] }: NetworkTarget, around: readonly PolicyUse[]): PolicyUse[] {
  const foreign = policies.find(({ name }) => !ofTargets.has(name));
  if (foreign !== undefined) throw new Error(`a target of MCP cannot have the policy ${foreign.name}`);
  const general = around.filter(
    ({ name }) => forTargets.has(name) && !policies.some((policy) => policy.name === name),
  );
  return [...general, ...policies];
}

function reachOf(
  target: TargetOverNetwork,
  uses: readonly PolicyUse[],
  settings: ProcessSettings,
  { endpoints, uses: used }: ReachTools,
  stepsOf: (uses: readonly PolicyUse[]) => readonly Steps[],
): CompiledReach {
  const { path, requestTimeoutMs: callTimeoutMs } = target;
  const destination = endpoints.use(targetOf(target), settings.upstream, settings.limits);
  used.destinations.add(destination);
  const steps = stepsOf(uses).filter(({ onRequest }) => onRequest !== undefined);
  if (steps.length === 0) return { destination, path, headers: [], callTimeoutMs, settings: target };
  const found = (request: TargetRequest): Reach => {
    const { forwardTarget, forwardHost, requestHeaders, signer, sentCredentials } = request;
    const { lines: headers } = requestHeaders;
    const reach: Reach = {
      destination,
      path: forwardTarget,
      headers,
      ...(signer === undefined ? {} : { signer }),
      ...(sentCredentials.length === 0 ? {} : { credentials: sentCredentials }),
      callTimeoutMs,
      settings: target,
    };
    return forwardHost?.kind === 'full' ? { ...reach, authority: forwardHost.authority } : reach;
  };
  // They change the request and nothing else (`forTargets`).
  const answered = (): never => {
    throw new Error('a policy of a target must not answer');
  };
  const requestFor = (exchange: Exchange, sent: Sent): TargetRequest => {
    const request = new TargetRequest(exchange, path);
    sent.set(target.name, request.sentCredentials);
    return request;
  };
  if (steps.some(({ waits }) => waits === true))
    return {
      ask: (exchange, sent) => {
        const request = requestFor(exchange, sent);
        const run = (from: number): Reach | Promise<Reach> => {
          for (let index = from; index < steps.length; index++) {
            const result = steps[index]?.onRequest?.(request);
            if (result instanceof Promise)
              return result.then((reply) => (reply === undefined ? run(index + 1) : answered()));
            if (result !== undefined) answered();
          }
          return found(request);
        };
        return run(0);
      },
    };
  return (exchange, sent) => {
    const request = requestFor(exchange, sent);
    for (const step of steps) if (step.onRequest?.(request) !== undefined) answered();
    return found(request);
  };
}

/**
 * A request to a server, as policies see it: made for that of a client, and with nothing of it. Tokens of clients are
 * for this gateway and go no further unless a policy says so (MCP, Authorization, "Token Passthrough").
 */
export class TargetRequest implements Exchange {
  forwardTarget: string;
  clientTarget: string;
  forwardHost: Exchange['forwardHost'];
  signer: Exchange['signer'];
  readonly requestHeaders = new HeaderEdits();
  readonly responseHeaders = new HeaderEdits();
  readonly sentCredentials: SentCredential[] = [];
  readonly request: Exchange['request'];
  readonly passage: Exchange['passage'];
  readonly chosen: Exchange['chosen'];
  readonly timing: Exchange['timing'];
  readonly forTarget = true;
  readonly matchedPrefix = undefined;
  readonly metadataUrl: Exchange['metadataUrl'];
  /** The path of a target is the operator's own. */
  readonly pathReadings: readonly string[] = [];
  identity: Exchange['identity'];
  token: Exchange['token'];
  user: Exchange['user'];
  apiKey: Exchange['apiKey'];
  readonly authorized: Exchange['authorized'];
  private readonly exchange: Exchange;

  constructor(exchange: Exchange, path: string) {
    this.exchange = exchange;
    const { metadataUrl } = exchange;
    this.metadataUrl = metadataUrl && (() => metadataUrl(exchange));
    this.forwardTarget = path;
    this.clientTarget = exchange.clientTarget;
    this.request = exchange.request;
    this.passage = exchange.passage;
    this.chosen = exchange.chosen;
    this.timing = exchange.timing;
    this.identity = exchange.identity;
    this.token = exchange.token;
    this.user = exchange.user;
    this.apiKey = exchange.apiKey;
    this.authorized = exchange.authorized;
    // Policies of the target read no token that authentication has taken out of the request.
    if (exchange.requestHeaders.dropsName('authorization')) this.requestHeaders.remove('authorization');
    // There are no client cookies to which a cookie could be added.
    this.requestHeaders.remove('cookie');
  }

  /** Expressions of a target draw on the budget of the client's request. */
  get workLeft(): number {
    return this.exchange.workLeft;
  }

  set workLeft(units: number) {
    this.exchange.workLeft = units;
  }

  limitRequest(ms: number): void {
    this.exchange.limitRequest(ms);
  }

  limitBackend(ms: number): void {
    this.exchange.limitBackend(ms);
  }

  onClose(listener: () => void): void {
    this.exchange.onClose(listener);
  }

  wait(ms: number): Promise<void> {
    return this.exchange.wait(ms);
  }
}

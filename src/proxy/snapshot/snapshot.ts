import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ToolNames } from '../../mcp/index.ts';
import type {
  Bind,
  HttpListener,
  Match,
  Model,
  PolicyUse,
  ProcessSettings,
  Route,
  ServerTls,
} from '../../model/index.ts';
import { policyHosts } from '../forward/policyHosts.ts';
import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import {
  compileRecord,
  fetchFor,
  hideCookies,
  keepsCookies,
  policyOrder,
  policyTable,
  type CompiledRecord,
  type Forwarding,
  type Hosts,
  type PolicyTools,
  type Steps,
  pageAccess,
} from '../../policies/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Destination } from '../../upstream/index.ts';
import type { BackendTools } from '../forward/backendTools.ts';
import { compileBackends } from '../forward/backends.ts';
import { childCredentials } from '../forward/childEnvironments.ts';
import type {
  Compiled,
  CompiledListener,
  CompiledRoute,
  NonHttpListener,
  RelayRouter,
} from '../exchange/liveExchange.ts';
import { dropTables, type DropTables } from '../routing/droppedHeaders.ts';
import { compileMatch } from '../routing/match.ts';
import { HostTable, Router } from '../routing/router.ts';
import type { RouteStats } from '../stats/stats.ts';
import { pickSteps, withOrigin } from '../exchange/steps.ts';
import {
  compileTcp,
  type CompiledTcpListener,
  type CompiledTcpRoute,
  type TcpTools,
} from '../streams/tcpRoutes.ts';

/** Prepares policies that close with the snapshot. */
type PrepareAll = (uses: readonly PolicyUse[]) => readonly Steps[];

/** All ports by the key of their bind. */
interface CompiledBinds {
  readonly binds: ReadonlyMap<string, HostTable<CompiledListener>>;
  /** The same for connections under TLS. */
  readonly secureBinds: ReadonlyMap<string, HostTable<CompiledListener | NonHttpListener>>;
  /** Listeners that pass bytes, by bind and name. */
  readonly tcpBinds: ReadonlyMap<string, ReadonlyMap<string, CompiledTcpListener>>;
  readonly tcpRoutes: readonly CompiledTcpRoute[];
}

export interface SnapshotTools extends BackendTools, TcpTools {
  readonly log: Logger;
  /** Absent where there are no other workers. */
  readonly relays: RelayRouter | undefined;
  /** Heads of responses are kept for spans. */
  readonly keepsResponse?: boolean;
  /** The snapshot before hides cookies: browsers keep the cookies of a policy that the reload removes. */
  readonly hidesCookies?: boolean;
  readonly policyTools: Omit<PolicyTools, 'place' | 'hosts' | 'sealingKey' | 'guarded' | 'tenant' | 'fetch'>;
  /** Live: the files of a listener may change while a snapshot is in use. */
  readonly handshakeOf: (tls: ServerTls) => NonNullable<CompiledListener['handshake']>;
  /** Counters live longer than snapshots: the same key gives the same ones. */
  readonly stats: (bind: string, listener: string, route: string) => RouteStats;
}

/** Port and address of the model, as a key that survives JSON and port 0. */
export const bindKey = ({ port, address }: Bind, index: number): string => {
  const key = port === 0 ? `0#${index}` : String(port);
  return address === undefined ? key : `${address.includes(':') ? `[${address}]` : address}:${key}`;
};

/**
 * The model compiled: what requests run on. A request enters the snapshot that is current when its head is complete
 * and leaves it when its answer is; a retired snapshot closes its policies when the last one has left.
 */
export class Snapshot implements Compiled {
  readonly model: Model;
  readonly settings: ProcessSettings;
  readonly drop: DropTables;
  readonly record: CompiledRecord | undefined;
  readonly keepsResponse: boolean;
  /** A policy keeps state in cookies, or one did in an earlier model. Browsers send them to all routes of the host. */
  readonly hidesCookies: boolean;
  readonly routes: readonly CompiledRoute[];
  readonly tcpRoutes: CompiledBinds['tcpRoutes'];
  private readonly binds: CompiledBinds['binds'];
  private readonly secureBinds: CompiledBinds['secureBinds'];
  private readonly tcpBinds: CompiledBinds['tcpBinds'];
  private readonly steps: readonly Steps[];
  private readonly destinations: ReadonlySet<Destination>;
  private inside = 0;
  private retired = false;

  private constructor(model: Model, compiler: Compiler, compiled: CompiledBinds) {
    this.model = model;
    this.settings = model.process;
    this.drop = dropTables(model.process);
    const { accessFields } = model.process;
    if (accessFields !== undefined && model.process.accessLog !== 'none')
      this.record = compileRecord(accessFields, 'accessLog');
    this.keepsResponse = compiler.keepsResponse || this.record?.readsResponse === true;
    this.hidesCookies = compiler.hidesCookies;
    this.steps = compiler.steps;
    this.routes = compiler.routes;
    this.destinations = compiler.destinations;
    for (const destination of this.destinations) destination.users++;
    ({
      binds: this.binds,
      secureBinds: this.secureBinds,
      tcpBinds: this.tcpBinds,
      tcpRoutes: this.tcpRoutes,
    } = compiled);
  }

  /**
   * Compiles a model. Many routes take many turns of the event loop, so that requests are served meanwhile.
   * @throws Error where something cannot be compiled that is no route; nothing is left of what was prepared then
   */
  static async of(model: Model, tools: SnapshotTools): Promise<Snapshot> {
    const compiler = new Compiler(tools, model.process);
    try {
      return new Snapshot(model, compiler, await inTurns(compiler.binds(model)));
    } catch (error) {
      for (const steps of compiler.steps) steps.close?.();
      throw error;
    }
  }

  bind(key: string, secure: boolean): HostTable<CompiledListener | NonHttpListener> | undefined {
    return (secure ? this.secureBinds : this.binds).get(key);
  }

  /** The listener of a connection that is not read as HTTP. */
  tcp(bind: string, listener: string): CompiledTcpListener | undefined {
    return this.tcpBinds.get(bind)?.get(listener);
  }

  enter(): void {
    this.inside++;
  }

  leave(): void {
    this.inside--;
    if (this.retired && this.inside === 0) this.close();
  }

  /** No further request will enter. */
  retire(): void {
    this.retired = true;
    if (this.inside === 0) this.close();
  }

  private close(): void {
    for (const steps of this.steps) steps.close?.();
    for (const destination of this.destinations) destination.users--;
  }
}

/** So many routes are compiled in a few milliseconds. */
const routesPerTurn = 64;

async function inTurns<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn();
  }
}

class Compiler {
  readonly routes: CompiledRoute[] = [];
  readonly steps: Steps[] = [];
  /** See `Snapshot.hidesCookies`. */
  hidesCookies: boolean;
  private readonly tools: SnapshotTools;
  private readonly settings: ProcessSettings;
  private readonly hosts: Hosts;
  /** For policies that a tenant may have written. */
  private readonly guardedHosts: Hosts;
  private compiled = 0;

  get keepsResponse(): boolean {
    return this.tools.keepsResponse === true;
  }

  get destinations(): ReadonlySet<Destination> {
    return this.tools.uses.destinations;
  }

  constructor(tools: SnapshotTools, settings: ProcessSettings) {
    this.tools = tools;
    this.settings = settings;
    this.hidesCookies = tools.hidesCookies === true;
    this.hosts = policyHosts(settings, tools);
    this.guardedHosts = policyHosts(settings, tools, true);
  }

  /** Every port with its listeners. Yields where others may have their turn. */
  *binds(model: Model): Generator<undefined, CompiledBinds> {
    const binds = new Map<string, HostTable<CompiledListener>>();
    const secureBinds = new Map<string, HostTable<CompiledListener | NonHttpListener>>();
    const tcpBinds = new Map<string, ReadonlyMap<string, CompiledTcpListener>>();
    const tcpRoutes: CompiledTcpRoute[] = [];
    this.hidesCookies ||= model.binds.some(({ listeners }) => listeners.some(keepsCookiesIn));
    for (const [index, bind] of model.binds.entries()) {
      const key = bindKey(bind, index);
      const plain: (readonly [string | undefined, CompiledListener])[] = [];
      const secure: (readonly [string | undefined, CompiledListener | NonHttpListener])[] = [];
      const tcp = new Map<string, CompiledTcpListener>();
      for (const listener of bind.listeners) {
        if (listener.protocol === 'HTTP')
          plain.push([listener.hostname, yield* this.listener(key, listener)]);
        if (listener.protocol === 'HTTPS')
          secure.push([listener.hostname, yield* this.listener(key, listener)]);
        if (listener.protocol === 'TLS') secure.push([listener.hostname, { name: listener.name }]);
        if (listener.protocol === 'TLS' || listener.protocol === 'TCP') {
          const compiled = compileTcp(key, listener, this.settings, this.tools);
          tcp.set(listener.name, compiled.listener);
          tcpRoutes.push(...compiled.routes);
        }
      }
      binds.set(key, new HostTable(plain));
      secureBinds.set(key, new HostTable(secure));
      tcpBinds.set(key, tcp);
    }
    return { binds, secureBinds, tcpBinds, tcpRoutes };
  }

  private *listener(bind: string, listener: HttpListener): Generator<undefined, CompiledListener> {
    const compiled: CompiledRoute[] = [];
    const matches = new Map<Match, ReturnType<typeof compileMatch>>();
    for (const route of listener.routes) {
      compiled.push(this.route(bind, listener, route));
      for (const match of route.matches) matches.set(match, compileMatch(match));
      this.compiled += 1;
      if (this.compiled % routesPerTurn === 0) yield undefined;
    }
    return {
      name: listener.name,
      bind,
      gateway: listener.gateway,
      policies: listener.policies,
      handshake: listener.tls && this.tools.handshakeOf(listener.tls),
      router: new Router(
        listener,
        (index) => compiled[index] as CompiledRoute,
        (match) => matches.get(match) ?? compileMatch(match),
      ),
      unrouted: this.assemble(bind, listener.name, undefined, inOrder(listener.policies), () => notFound),
    };
  }

  private route(bind: string, listener: HttpListener, route: Route): CompiledRoute {
    const policies = clockFirst([...inOrder(listener.policies), ...inOrder(route.policies)]);
    return this.assemble(bind, listener.name, route, policies, (plan, prepareAll) => {
      const place = `${bind}\n${listener.name}\n${route.name}`;
      const stepsOf: PrepareAll = (uses) => prepareAll(inOrder(uses));
      return compileBackends(place, { ...route, policies }, this.settings, this.tools, plan, stepsOf);
    });
  }

  private assemble(
    bind: string,
    listener: string,
    of: Route | undefined,
    policies: readonly PolicyUse[],
    serveBy: (plan: Forwarding | undefined, prepareAll: PrepareAll) => CompiledRoute['serve'],
  ): CompiledRoute {
    const all: Steps[] = [];
    /** A policy of the route also stands before each target of MCP, where it reads the same credentials. */
    const stepsOfUse = new Map<PolicyUse, Steps>();
    const toolNames: ToolNames[] = [];
    const ruleScopes: string[] = [];
    const name = of?.name ?? '';
    const before: string[] = [];
    const { sessionKey: sealingKey } = this.settings.fixed;
    const prepareAll: PrepareAll = (uses) =>
      uses.map((use) => {
        const nth = before.filter((other) => other === use.name).length;
        before.push(use.name);
        const place = [bind, listener, name, use.name, nth].join('\n');
        const prepared = prepare(use, {
          ...this.tools.policyTools,
          hosts: use.guarded === true ? this.guardedHosts : this.hosts,
          place,
          ...(sealingKey === undefined ? {} : { sealingKey }),
          guarded: use.guarded === true,
          ...(use.tenant === undefined ? {} : { tenant: use.tenant }),
          fetch: fetchFor(use.guarded === true),
        });
        const steps = withOrigin(prepared, { policy: use.name, place: use.place.path });
        toolNames.push(...(prepared.toolNames ?? []).map((names) => placedNames(names, use.place.path)));
        ruleScopes.push(...(prepared.ruleScopes ?? []));
        all.push(steps);
        stepsOfUse.set(use, steps);
        return steps;
      });
    let prepared: readonly Steps[];
    let itemRules: string | undefined;
    let serve: CompiledRoute['serve'];
    try {
      prepared = prepareAll(policies);
      itemRules = itemRuleText(policies, prepared);
      serve = serveBy(planOf(prepared), prepareAll);
    } catch (error) {
      for (const steps of all) steps.close?.();
      return this.closed(bind, listener, of, error);
    }
    this.steps.push(...all);
    const open = of && pageAccess(policies, servesMcp(of));
    // Before every policy that refuses callers: a preflight carries no credentials.
    if (open !== undefined) prepared = [open, ...prepared];
    if (this.hidesCookies) prepared = [...prepared, hideCookies];
    const onResponse = pickSteps(prepared, 'onResponse');
    const route: CompiledRoute = {
      onRequest: pickSteps(prepared, 'onRequest'),
      onResponse: onResponse.length === 0 ? undefined : onResponse,
      watchCaller: pickSteps(prepared, 'watchCaller'),
      relays: of !== undefined && servesMcp(of) ? this.tools.relays : undefined,
      serve,
      stats: this.tools.stats(bind, listener, name),
      name,
      listener,
      of,
      credentials: [
        ...pickSteps([...stepsOfUse.values()], 'credentials'),
        ...childCredentials(of?.backends ?? []),
      ],
      onWellKnown: pickSteps(prepared, 'onWellKnown'),
      metadataUrl: prepared.find(({ metadataUrl }) => metadataUrl !== undefined)?.metadataUrl,
      wellKnownKey: prepared.map((steps) => steps.wellKnownKey ?? '').join('\n'),
      refuseMcpItem: pickSteps(prepared, 'refuseMcpItem'),
      neededScopes: pickSteps(prepared, 'neededScopes'),
      ruleScopes,
      countMcpCall: pickSteps(prepared, 'countMcpCall'),
      mcpCallTime: pickSteps(prepared, 'mcpCallTime'),
      onMcpRequest: pickSteps(prepared, 'onMcpRequest'),
      onMcpResult: pickSteps(prepared, 'onMcpResult'),
      itemRules,
      toolNames,
      itemsByIdentity: prepared.every((steps) => !steps.refuseMcpItem || steps.itemsByIdentity === true),
      get broken() {
        for (const steps of all) {
          const problem = steps.problem?.();
          if (problem !== undefined) return problem;
        }
        return undefined;
      },
    };
    this.routes.push(route);
    return route;
  }

  /** A route that cannot be prepared answers 500; it is never served without its policies. */
  private closed(bind: string, listener: string, of: Route | undefined, error: unknown): CompiledRoute {
    const name = of?.name ?? '';
    const broken = messageOf(error);
    this.tools.log.error('Route closed: it could not be prepared', {
      listener,
      route: name,
      problem: broken,
    });
    const route: CompiledRoute = {
      onRequest: [],
      onResponse: undefined,
      watchCaller: [],
      relays: undefined,
      serve: (exchange) => exchange.fail(new GatewayError('route_broken', { detail: broken })),
      stats: this.tools.stats(bind, listener, name),
      name,
      listener,
      of,
      credentials: [],
      onWellKnown: [],
      metadataUrl: undefined,
      wellKnownKey: '',
      refuseMcpItem: [],
      neededScopes: [],
      ruleScopes: [],
      countMcpCall: [],
      mcpCallTime: [],
      onMcpRequest: [],
      onMcpResult: [],
      itemRules: undefined,
      toolNames: [],
      itemsByIdentity: true,
      broken,
    };
    this.routes.push(route);
    return route;
  }
}

/** The policies that have rules about items, as text; undefined where there is none. @param prepared in the same order */
function itemRuleText(policies: readonly PolicyUse[], prepared: readonly Steps[]): string | undefined {
  const ruling = policies.filter((_, nth) => prepared[nth]?.refuseMcpItem !== undefined);
  if (ruling.length === 0) return undefined;
  return JSON.stringify(ruling.map(({ name, settings }) => [name, settings]));
}

const keepsCookiesIn = (listener: Bind['listeners'][number]): boolean =>
  'policies' in listener &&
  (listener.policies.some(keepsCookies) ||
    listener.routes.some(({ policies }) => policies.some(keepsCookies)));

const servesMcp = ({ backends }: Route): boolean => backends.some(({ kind }) => kind === 'mcp');

const notFound: CompiledRoute['serve'] = (exchange) => exchange.fail(new GatewayError('route_not_found'));

/** Joins the forwarding plans of all policies; undefined if there is none. */
function planOf(all: readonly Steps[]): Forwarding | undefined {
  let plan: Forwarding | undefined;
  for (const { forwarding } of all) if (forwarding !== undefined) plan = { ...plan, ...forwarding };
  return plan;
}

function prepare(use: PolicyUse, tools: PolicyTools): Steps {
  const policy = policyTable.get(use.name);
  if (policy === undefined) throw new Error(`no policy is called ${use.name}`);
  return policy.prepare(use.settings, tools);
}

const inOrder = (uses: readonly PolicyUse[]): PolicyUse[] =>
  uses.toSorted((a, b) => policyOrder(a.name) - policyOrder(b.name));

/** The time of a request runs from its head on, so it covers the policies of the listener as well. */
const clockFirst = (uses: readonly PolicyUse[]): PolicyUse[] =>
  uses.toSorted((a, b) => Number(b.name === 'timeout') - Number(a.name === 'timeout'));

/** The names of a rule, with its place in the whole configuration. */
const placedNames = ({ by, ...names }: ToolNames, place: string): ToolNames => ({
  ...names,
  by: { ...by, place: place + (by.place ?? '') },
});

import { isOverNetwork, warningsOfTarget } from '../mcp/targets/facts.ts';
import {
  isExposed,
  reachableHostnames,
  sortedRules,
  type BackendTls,
  type Bind,
  type HttpListener,
  type Listener,
  type McpBackend,
  type Model,
  type PathMatch,
  type Place,
  type PolicyUse,
  type Route,
  type TcpListener,
  type TcpRoute,
  type UdpListener,
  type UdpRoute,
} from '../model/index.ts';
import {
  answeringPolicies,
  argumentsNeeded,
  demandsTwoKinds,
  factsOf,
  policiesAbout,
  rulesOf,
  targetsNamedBy,
} from '../policies/facts.ts';
import { warnOfNames } from './nameWarnings.ts';
import { suggestion } from './nearest.ts';
import { haveSuite } from './schema/serverTls.ts';
import type { Problem } from './problem.ts';

/**
 * Finds settings that are valid and probably not meant.
 *
 * @param routes Routes that attach to gateways by name, whether or not one of them serves the route.
 */
export function warningsOf(
  model: Model,
  places: {
    readonly top: Place;
    readonly admin: Place;
    readonly auditChain: Place;
    readonly frontendTls: Place;
    readonly moduleLevels?: Place;
  },
  routes: readonly (Route | TcpRoute)[],
): Problem[] {
  const warnings: Problem[] = [];
  const warn = ({ file: where, line, column, path }: Place, message: string, hint?: string): void => {
    const problem = { file: where, line, column, path, message };
    warnings.push(hint === undefined ? problem : { ...problem, hint });
  };

  if (model.binds.length === 0)
    warn(places.top, 'nothing is served', 'add `binds`, or `gateways` with `routes` or `mcp`');
  if (places.moduleLevels !== undefined)
    warn(
      places.moduleLevels,
      `levels of single modules have no effect: all messages from ${model.process.fixed.logLevel} on are logged`,
    );
  if (losesCheckpoints(model))
    warn(
      places.auditChain,
      `checkpoints go to the log, which leaves them out at the level ${model.process.fixed.logLevel}`,
      'set checkpoints: {file: …}, or logging.level: info',
    );
  if (isExposed(model.process.fixed.admin))
    warn(
      places.admin,
      'the admin interface can be reached from other machines, and sends its secret without TLS',
    );
  if (model.process.fixed.admin.kind === 'tcp' && hasChildren(model))
    warn(
      places.admin,
      'the child processes of stdio targets can read the admin port, like every local account',
      'set adminAddr: unix:/path, or off',
    );

  for (const bind of model.binds)
    for (const listener of bind.listeners)
      if (model.process.trustedProxies === undefined) warnOfOpenConsole(bind, listener, warn);
  // A listener that contradicts itself is refused, so the contradiction is to what holds for all.
  for (const { name } of model.binds.flatMap(({ listeners }) => listeners).filter(failsHandshakes))
    warn(
      places.frontendTls,
      `with the settings of the listener ${name}, no version of TLS with a cipher suite is left: no client can connect`,
    );
  const served = new Set<Route>();
  const raw = new Set<TcpRoute | UdpRoute>();
  for (const listener of model.binds.flatMap((bind) => bind.listeners)) {
    if ('routes' in listener) {
      warnOfListener(listener, warn);
      for (const route of listener.routes) served.add(route);
    } else {
      warnOfRawListener(listener, warn);
      for (const route of 'tcpRoutes' in listener ? listener.tcpRoutes : listener.udpRoutes) raw.add(route);
    }
  }
  for (const route of served) warnOfRoute(route, warn);
  if (model.process.fixed.sessionKey === undefined) warnOfRandomKey(served, warn);
  for (const route of raw) warnOfRawRoute(route, warn);
  for (const route of routes)
    if (!served.has(route as Route) && !raw.has(route as TcpRoute))
      warn(route.place, 'no listener of its gateways serves any of its host names; the route is never used');
  return warnings;
}

function failsHandshakes(listener: Listener): boolean {
  if (!('tls' in listener) || listener.tls === undefined) return false;
  const { minVersion: least, maxVersion: most, ciphers } = listener.tls;
  return !haveSuite({ least, most }, ciphers);
}

type Warn = (place: Place, message: string, hint?: string) => void;

/** Child processes run on this machine, so loopback does not keep them out. */
function hasChildren({ binds }: Model): boolean {
  return binds
    .flatMap(({ listeners }) => listeners)
    .flatMap((listener) => ('routes' in listener ? listener.routes : []))
    .flatMap(({ backends }) => backends)
    .some((backend) => backend.kind === 'mcp' && !backend.targets.every(isOverNetwork));
}

/** The console changes what runs here, so its credentials must not be readable on the way. */
function warnOfOpenConsole({ port, address = '::' }: Bind, listener: Listener, warn: Warn): void {
  if (listener.protocol !== 'HTTP' || !isExposed({ kind: 'tcp', host: address, port })) return;
  for (const { backends, place } of listener.routes)
    if (backends.some(({ kind }) => kind === 'console'))
      warn(
        place,
        'the console can be reached from other machines without TLS',
        'add tls to the gateway, or name the proxies that end TLS in trustedProxies',
      );
}

function warnOfListener(listener: HttpListener, warn: Warn): void {
  for (const route of listener.routes) {
    if (reachableHostnames(listener.hostname, route.hostnames).length === 0)
      warn(
        route.place,
        `none of its host names belongs to the listener (${listener.hostname ?? ''}); the route is never used`,
      );
    for (const policy of route.policies) warnOfOwnPaths(policy, listener, warn);
    for (const policy of route.policies) warnOfMode(policy, [...listener.policies, ...route.policies], warn);
  }
  for (const policy of listener.policies)
    if (listener.routes.every((route) => !hasRules(route.policies)))
      warnOfMode(policy, listener.policies, warn);
  const seen = new Map<string, Route>();
  for (const { hostname, match, route } of sortedRules(listener)) {
    const key = JSON.stringify([hostname, match]);
    const first = seen.get(key);
    if (first !== undefined && first !== route)
      warn(route.place, `has a match that ${first.place.path} has too and takes first`);
    seen.set(key, first ?? route);
  }
}

/** Warns of the first policy alone, because one key mends all of them. */
function warnOfRandomKey(routes: Iterable<Route>, warn: Warn): void {
  for (const { policies } of routes)
    for (const { name, settings, place } of policies) {
      const lost = factsOf(name)?.lostWithoutSessionKey?.(settings);
      if (lost === undefined) continue;
      warn(place, `without config.session.key, ${lost}`, 'set it to the output of `openssl rand -hex 32`');
      return;
    }
}

/** A path that a policy answers must lead to a route with this policy, whichever of several that is. */
function warnOfOwnPaths({ name, settings, place }: PolicyUse, { routes }: HttpListener, warn: Warn): void {
  const paths = factsOf(name)?.ownPaths?.(settings) ?? [];
  const answers = (path: string): boolean =>
    routes.some(
      ({ matches, policies }) =>
        matches.some((match) => mayMatch(match.path, path)) &&
        policies.some((other) => other.name === name && ownPath(other, path)),
    );
  const lost = paths.filter((path) => !answers(path));
  if (lost.length > 0)
    warn(
      place,
      `no route with this policy matches ${lost.join(' and ')}, which the policy answers`,
      'add matches for these paths',
    );
}

const ownPath = ({ name, settings }: PolicyUse, path: string): boolean =>
  factsOf(name)?.ownPaths?.(settings).includes(path) === true;

/** Prefixes match whole segments. A regular expression is not evaluated here. */
function mayMatch({ kind, value }: PathMatch, path: string): boolean {
  if (kind === 'regex') return true;
  if (kind === 'exact') return path === value;
  return path === value || path.startsWith(value.endsWith('/') ? value : `${value}/`);
}

/** Routes that can never be chosen. */
function warnOfRawListener(listener: TcpListener | UdpListener, warn: Warn): void {
  const { hostname, routes } =
    'tcpRoutes' in listener
      ? { hostname: listener.hostname, routes: listener.tcpRoutes }
      : { hostname: undefined, routes: listener.udpRoutes };
  const taken = new Map<string | undefined, TcpRoute | UdpRoute>();
  for (const route of routes) {
    if (listener.protocol === 'TCP' && 'hostnames' in route && !takesAnyName(route)) {
      warn(
        route.place,
        'has host names, and a connection without TLS has none: the route is never used',
        'leave `hostnames` out, or use a listener of protocol TLS',
      );
      continue;
    }
    const names = reachableHostnames(hostname, 'hostnames' in route ? route.hostnames : []);
    if (names.length === 0)
      warn(
        route.place,
        `none of its host names belongs to the listener (${hostname ?? ''}); the route is never used`,
      );
    for (const name of names) {
      const first = taken.get(name);
      if (first === undefined) taken.set(name, route);
      else
        warn(
          route.place,
          `${name === undefined ? 'takes what' : `serves ${name}, which`} ${first.place.path} takes first`,
        );
    }
  }
}

const takesAnyName = ({ hostnames }: TcpRoute): boolean => hostnames.length === 0 || hostnames.includes('*');

function warnOfRawRoute({ backends, place }: TcpRoute | UdpRoute, warn: Warn): void {
  for (const backend of backends) if (backend.kind === 'tcp') warnOfTls(backend, warn);
  const lost = 'udp' === backends[0]?.kind ? 'every datagram is dropped' : 'every connection is closed';
  if (backends.length === 0) warn(place, 'has no backend: nothing gets through');
  else if (backends.every(({ weight }) => weight === 0))
    warn(place, `has only backends of weight 0: ${lost}`);
}

function warnOfTls(
  { tls, place }: { readonly tls?: BackendTls | undefined; readonly place: Place },
  warn: Warn,
): void {
  if (tls?.insecure !== true) return;
  warn(
    place,
    'backendTLS.insecure: whoever can answer at its address gets its requests; the certificate is not verified',
    'name the authority with `root`',
  );
}

/** Policies about a request that is forwarded as it came; MCP servers get messages of their session. */
const aboutForwarding = policiesAbout('forwarding');
/** The policies for requests to servers that are reached over the network. */
const aboutConnections = policiesAbout('connection');

function warnOfRoute(route: Route, warn: Warn): void {
  for (const backend of route.backends) {
    if (backend.kind === 'http') warnOfTls(backend, warn);
    if (backend.kind === 'mcp') {
      for (const target of backend.targets) {
        if (isOverNetwork(target)) warnOfTls({ tls: target.tls, place: backend.place }, warn);
        for (const message of warningsOfTarget(target)) warn(backend.place, `${target.name}: ${message}`);
      }
      warnOfNames(backend, (message, hint) => warn(backend.place, message, hint));
    }
  }
  if (route.policies.some(({ name }) => answeringPolicies.has(name))) return;
  const mcp = route.backends.filter((backend) => backend.kind === 'mcp');
  const remote = mcp.some(({ targets }) => targets.some(isOverNetwork));
  if (mcp.length === 0)
    for (const { name, settings, place } of route.policies) {
      const what = factsOf(name)?.forMcpOnly?.(settings);
      if (what !== undefined) warn(place, `${what} does nothing: the route has no MCP server`);
    }
  if (mcp.length > 0)
    for (const { name, settings, place } of route.policies) {
      const idle = factsOf(name)?.idleForMcp?.(settings, remote);
      if (idle !== undefined)
        warn(place, `${idle} does nothing for MCP servers${remote ? '' : ' that run as child processes'}`);
      if (aboutForwarding.has(name))
        warn(place, 'does nothing for MCP servers: they get messages, not the requests of clients');
      else if (aboutConnections.has(name) && !remote)
        warn(
          place,
          'does nothing for MCP servers that run as child processes: no HTTP request is sent to them',
        );
    }
  warnOfTargets(route, mcp, warn);
  for (const policy of route.policies) warnOfItemRules(policy, warn);
  for (const { name, settings, place } of route.policies)
    for (const message of factsOf(name)?.warnings?.(settings) ?? []) warn(place, message);
  if (route.backends.length === 0) warn(route.place, 'has no backend: every request is answered with 500');
  else if (route.backends.every((backend) => backend.weight === 0))
    warn(route.place, 'has only backends of weight 0: every request is answered with 500');
}

/** A rule about a target that the route does not have: it lets nobody in, or keeps nobody out, whatever it says. */
function warnOfTargets({ policies }: Route, mcp: readonly McpBackend[], warn: Warn): void {
  if (mcp.length === 0) return;
  const known = mcp.flatMap(({ targets }) => targets.map(({ name }) => name));
  const told = new Set<string>();
  for (const policy of policies)
    for (const rule of rulesOf(policy)) {
      const expression = member(rule, 'expression');
      for (const name of typeof expression === 'string' ? targetsNamedBy(expression) : []) {
        if (known.includes(name) || told.has(name)) continue;
        told.add(name);
        warn(
          policy.place,
          `a rule names the target ${JSON.stringify(name)}, and the route has none of this name`,
          suggestion(name, known),
        );
      }
    }
}

const severalKinds =
  'needs several of mcp.tool, mcp.prompt and mcp.resource, and each item is only one of them';
const emptyNames = 'where it fails, the names of the other kinds count as empty';

/**
 * Rules that need a tool and a prompt at once, while an item is only one of them; and rules that deny each call without
 * an argument, because they fail for it.
 */
function warnOfItemRules(policy: PolicyUse, warn: Warn): void {
  for (const [index, { effect, expression, name }] of rulesOf(policy).entries()) {
    const rule = `rules[${String(index)}]${name === undefined ? '' : ` (${name})`}`;
    if (demandsTwoKinds(expression))
      warn(
        policy.place,
        effect === 'deny' || effect === 'scopes'
          ? `${rule} ${severalKinds}: ${emptyNames}`
          : `${rule} can never be true: it ${severalKinds}`,
        'join the conditions with ||',
      );
    for (const argument of effect === 'deny' ? argumentsNeeded(expression) : [])
      warn(
        policy.place,
        `${rule} also denies each call without the argument ${JSON.stringify(argument)}: a deny rule that fails denies`,
        'ask with has(…) first, unless the tool requires the argument',
      );
  }
}

/** Without a strict mode callers come in without a token; only a rule can then keep them out. */
function warnOfMode(policy: PolicyUse, beside: readonly PolicyUse[], warn: Warn): void {
  const credential = factsOf(policy.name)?.asksFor;
  if (credential === undefined) return;
  const mode = member(policy.settings, 'mode');
  if (typeof mode !== 'string' || mode === 'strict' || hasRules(beside)) return;
  warn(
    policy.place,
    `mode ${mode} lets callers in without a ${credential}, and there is no authorization rule`,
    'set mode: strict, or add rules',
  );
}

function hasRules(policies: readonly PolicyUse[]): boolean {
  return policies.some((policy) => rulesOf(policy).length > 0);
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Checkpoints have the level info. Without them, nothing shows whether the end of the audit stream was cut off. */
function losesCheckpoints({ process: { fixed } }: Model): boolean {
  const chain = fixed.audit?.chain;
  return chain !== undefined && chain.checkpointFile === undefined && /^(?:warn|error)$/.test(fixed.logLevel);
}

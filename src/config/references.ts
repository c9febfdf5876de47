import { backendReferences, childFieldNames } from '../mcp/targets/facts.ts';
import { nestedRules, policiesOn, prefixReplacers, serverCallers, stateSharers } from '../policies/facts.ts';
import { suggestion } from './nearest.ts';
import { formatPath, type Path } from './path.ts';
import type { Report } from './report.ts';
import { listenerFields } from './schema/document.ts';
import { usualMcpPort } from './schema/mcp.ts';
import { misplacedOnBackend } from './schema/route.ts';
import { nameOfBackend } from '../schema/index.ts';

/**
 * Checks the references between parts of the document: names given twice, references to missing objects. Works on
 * plain data that need not fit the schema, so that a typo in one place does not hide a dangling name in another.
 */
export function checkReferences(document: unknown, report: Report): void {
  const top: Node = { value: document, path: [] };
  checkPorts(top, report);
  const gateways = checkGateways(top, report);
  for (const bind of items(field(top, 'binds'))) {
    const listeners = items(field(bind, 'listeners'));
    unique(listeners, 'name', 'another listener of this port has this name', report);
    checkListeners(listeners, report);
    checkProxied(bind, listeners, report);
    for (const listener of listeners) {
      checkRoutes(items(field(listener, 'routes')), report);
      for (const kind of ['tcpRoutes', 'udpRoutes']) uniqueRoutes(items(field(listener, kind)), report);
    }
  }
  const routes = items(field(top, 'routes'));
  checkRoutes(routes, report);
  for (const route of routes) checkGatewayRefs(route, 'routes', gateways, report);
  for (const kind of ['tcpRoutes', 'udpRoutes'] as const) {
    const raw = items(field(top, kind));
    uniqueRoutes(raw, report);
    for (const route of raw) checkGatewayRefs(route, kind, gateways, report);
  }
  checkConsole(field(top, 'ui'), routes, gateways, report);
  const mcp = field(top, 'mcp');
  if (mcp.value !== undefined) checkMcp(mcp, gateways, report);
  checkBackends(top, report);
  if (field(field(top, 'config'), 'store').value === undefined) {
    const listeners = items(field(top, 'binds')).flatMap((bind) => items(field(bind, 'listeners')));
    const inline = listeners.flatMap((listener) => items(field(listener, 'routes')));
    for (const node of [...inline, ...routes, mcp]) checkWithoutStore(field(node, 'policies'), report);
  }
}

/** State can be shared only where there is a store for it. */
function checkWithoutStore(policies: Node, report: Report): void {
  for (const { policy, field: name, value } of stateSharers)
    for (const entry of items(field(policies, policy))) {
      const found = field(entry, name);
      if (found.value === value) report(found.path, 'value', `${value} needs config.store`);
    }
}

interface Node {
  readonly value: unknown;
  readonly path: Path;
}

function field(node: Node, name: string): Node {
  const { value } = node;
  const inside =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
  return { value: inside ? (value as Record<string, unknown>)[name] : undefined, path: [...node.path, name] };
}

function items(node: Node): Node[] {
  return Array.isArray(node.value)
    ? node.value.map((value: unknown, index) => ({ value, path: [...node.path, index] }))
    : [];
}

function entries(node: Node): { name: string; node: Node }[] {
  if (typeof node.value !== 'object' || node.value === null || Array.isArray(node.value)) return [];
  return Object.keys(node.value).map((name) => ({ name, node: field(node, name) }));
}

function unique(nodes: readonly Node[], name: string, message: string, report: Report): void {
  const seen = new Set<string>();
  for (const node of nodes) {
    const { value, path } = field(node, name);
    if (typeof value !== 'string') continue;
    if (seen.has(value)) report(path, 'value', message);
    seen.add(value);
  }
}

/** The protocol of a listener or gateway, whether or not it is written. */
function protocolOf(listener: Node): string {
  const { value } = field(listener, 'protocol');
  if (typeof value === 'string') return value;
  return field(listener, 'tls').value === undefined ? 'HTTP' : 'HTTPS';
}

/** Connections of a port are told apart by their first bytes and by host name; datagrams are another port. */
function checkListeners(listeners: readonly Node[], report: Report): void {
  const spoken = listeners.map((listener) => ({ listener, protocol: protocolOf(listener) }));
  const datagrams = spoken.filter(({ protocol }) => protocol === 'UDP');
  for (const { listener } of datagrams.slice(1))
    report(listener.path, 'value', 'another listener of this port takes every datagram already');
  const streams = spoken.filter(({ protocol }) => protocol !== 'UDP');
  if (streams.length > 1)
    for (const { listener, protocol } of streams)
      if (protocol === 'TCP')
        report(
          listener.path,
          'value',
          'a TCP listener takes every connection of its port, which has other listeners',
          'give it a port of its own',
        );
  uniqueHostnames(
    streams.filter(({ protocol }) => protocol !== 'TCP'),
    report,
  );
}

function checkProxied(port: Node, listeners: readonly Node[], report: Report): void {
  const { value, path } = field(port, 'proxyProtocol');
  if (value === undefined || listeners.length === 0) return;
  if (listeners.every((listener) => protocolOf(listener) === 'UDP'))
    report(path, 'key', 'is about connections, and UDP has none');
}

function uniqueHostnames(
  listeners: readonly { readonly listener: Node; readonly protocol: string }[],
  report: Report,
): void {
  const seen = new Set<string>();
  for (const { listener, protocol } of listeners) {
    const hostname = field(listener, 'hostname');
    const name =
      typeof hostname.value === 'string' && hostname.value !== '*' ? hostname.value.toLowerCase() : '';
    // A port may speak TLS and plain HTTP side by side: they are told apart by the first byte.
    const text = `${protocol === 'HTTP' ? '' : 'tls'} ${name}`;
    if (seen.has(text) && name === '')
      report(
        listener.path,
        'value',
        'another listener of this port serves every host already',
        'give one of them a hostname',
      );
    else if (seen.has(text))
      report(hostname.path, 'value', 'another listener of this port serves this host already');
    seen.add(text);
  }
}

/** A port is opened once; port 0 is another port every time. */
function checkPorts(top: Node, report: Report): void {
  const owners = new Map<number, Path>();
  const gateways = entries(field(top, 'gateways')).map(({ node }) => field(node, 'port'));
  const nodes = [
    ...items(field(top, 'binds')).map((bind) => field(bind, 'port')),
    ...gateways,
    mcpPort(field(top, 'mcp'), gateways.length > 0),
  ];
  for (const { value, path } of nodes) {
    if (typeof value !== 'number' || value === 0) continue;
    const owner = owners.get(value);
    if (owner !== undefined) report(path, 'value', `port ${value} is used by ${formatPath(owner)} already`);
    else owners.set(value, path);
  }
}

/** The port that the top-level `mcp` opens, said or not. */
function mcpPort(mcp: Node, hasGateways: boolean): Node {
  const port = field(mcp, 'port');
  const standsAlone = !hasGateways && mcp.value !== undefined && field(mcp, 'gateways').value === undefined;
  return port.value === undefined && standsAlone ? { value: usualMcpPort, path: mcp.path } : port;
}

/** Name of each gateway → its listeners: those without a name cannot be referred to. */
type Gateways = ReadonlyMap<
  string,
  readonly { readonly name: string | undefined; readonly protocol: string }[]
>;

function checkGateways(top: Node, report: Report): Gateways {
  const gateways = new Map<string, { name: string | undefined; protocol: string }[]>();
  for (const { name, node } of entries(field(top, 'gateways'))) {
    const listeners = items(field(node, 'listeners'));
    unique(listeners, 'name', 'another listener of this gateway has this name', report);
    checkListeners(listeners, report);
    checkProxied(node, listeners.length > 0 ? listeners : [node], report);
    if (listeners.length > 0)
      for (const other of listenerFields) {
        const { value, path } = field(node, other);
        if (value !== undefined)
          report(path, 'key', 'belongs to the single listeners where there are `listeners`');
      }
    gateways.set(
      name,
      (listeners.length > 0 ? listeners : [node]).map((listener) => {
        const given = listeners.length > 0 ? field(listener, 'name').value : undefined;
        return { name: typeof given === 'string' ? given : undefined, protocol: protocolOf(listener) };
      }),
    );
  }
  return gateways;
}

/** Field of a route → protocols of the listeners that can serve it. */
const served: Readonly<Record<'routes' | 'tcpRoutes' | 'udpRoutes', readonly string[]>> = {
  routes: ['HTTP', 'HTTPS'],
  tcpRoutes: ['TLS', 'TCP'],
  udpRoutes: ['UDP'],
};

function checkGatewayRefs(node: Node, kind: keyof typeof served, gateways: Gateways, report: Report): void {
  const refs = field(node, 'gateways');
  const listed = typeof refs.value === 'string' ? [refs] : items(refs);
  if (listed.length === 0 && !gateways.has('default')) {
    report(
      node.path,
      'value',
      'attaches to the gateway `default`, which is not defined',
      gateways.size === 0
        ? 'define it under `gateways`'
        : `name one of ${[...gateways.keys()].join(', ')} in \`gateways\``,
    );
  }
  const implied = listed.length === 0 && gateways.has('default');
  for (const { value, path } of implied ? [{ value: 'default', path: node.path }] : listed) {
    if (typeof value !== 'string') continue;
    const [gateway = '', listener, ...rest] = value.split('/');
    const listeners = gateways.get(gateway);
    if (listeners === undefined) {
      report(
        path,
        'value',
        `there is no gateway ${JSON.stringify(gateway)}`,
        suggestion(gateway, [...gateways.keys()]),
      );
      continue;
    }
    const meant = listeners.filter(({ name }) => listener === undefined || name === listener);
    if (rest.length > 0 || meant.length === 0)
      report(
        path,
        'value',
        `the gateway ${gateway} has no listener ${JSON.stringify([listener, ...rest].join('/'))}`,
        suggestion(
          listener ?? '',
          listeners.flatMap(({ name }) => name ?? []),
        ),
      );
    else checkProtocol({ value, path }, kind, meant, report);
  }
}

function checkProtocol(
  { value, path }: { readonly value: string; readonly path: Path },
  kind: keyof typeof served,
  listeners: readonly { readonly protocol: string }[],
  report: Report,
): void {
  const protocols = listeners.map(({ protocol }) => protocol).filter((each) => served[kind].includes(each));
  if (protocols.length === 0)
    report(
      path,
      'value',
      `${value} speaks ${listeners[0]?.protocol ?? ''}, and ${kind} need ${served[kind].join(' or ')}`,
    );
}

function checkMcp(mcp: Node, gateways: Gateways, report: Report): void {
  const port = field(mcp, 'port');
  const refs = field(mcp, 'gateways');
  if (port.value === undefined) {
    // Without any gateway it opens a port of its own.
    if (refs.value !== undefined || gateways.size > 0) checkGatewayRefs(mcp, 'routes', gateways, report);
  } else if (refs.value !== undefined) report(port.path, 'key', 'expected either gateways or port, got both');
  checkRules(field(mcp, 'policies'), report);
}

/** The console is a route with a name of its own. */
function checkConsole(ui: Node, routes: readonly Node[], gateways: Gateways, report: Report): void {
  const refs = field(ui, 'gateways');
  if (refs.value === undefined || (Array.isArray(refs.value) && refs.value.length === 0)) return;
  checkGatewayRefs(ui, 'routes', gateways, report);
  for (const route of routes) {
    const { value, path } = field(route, 'name');
    if (value === 'ui') report(path, 'value', 'the console of `ui.gateways` has this name');
  }
}

function uniqueRoutes(routes: readonly Node[], report: Report): void {
  unique(routes, 'name', 'another route beside it has this name', report);
}

function checkRoutes(routes: readonly Node[], report: Report): void {
  uniqueRoutes(routes, report);
  for (const route of routes) {
    checkRules(field(route, 'policies'), report);
    checkPrefixes(route, report);
  }
}

/** A path prefix can be replaced only where one was matched. */
function checkPrefixes(route: Node, report: Report): void {
  const matches = items(field(route, 'matches'));
  const others = matches.some((match) => {
    const path = field(match, 'path');
    return path.value !== undefined && field(path, 'pathPrefix').value === undefined;
  });
  if (!others) return;
  for (const policy of prefixReplacers) {
    const prefix = field(field(field(field(route, 'policies'), policy), 'path'), 'prefix');
    if (prefix.value === undefined) continue;
    report(
      prefix.path,
      'key',
      'needs a route that matches by path prefix only',
      'use path.full, or make a route of its own for the other matches',
    );
  }
}

/** Rules may stand in either of two places, but not different ones in both: it would be unclear which count. */
function checkRules(policies: Node, report: Report): void {
  for (const { policy, member, likePolicy } of nestedRules) {
    const nested = field(field(policies, policy), member);
    const apart = field(policies, likePolicy);
    if (nested.value === undefined || apart.value === undefined) continue;
    if (sameRules(nested) === sameRules(apart)) continue;
    report(
      apart.path,
      'key',
      `differs from ${policy}.${member} of the same route`,
      'keep the rules in one of the two places',
    );
  }
}

/** `'x'`, `{if: x}` and `{allow: x}` are the same rule. */
function sameRules(policy: Node): string {
  return JSON.stringify(
    items(field(policy, 'rules')).map((rule) => {
      if (typeof rule.value === 'string') return ['allow', rule.value];
      const condition = field(rule, 'if').value;
      if (condition !== undefined) return [field(rule, 'action').value ?? 'allow', condition];
      for (const effect of ['allow', 'deny', 'require'])
        if (field(rule, effect).value !== undefined) return [effect, field(rule, effect).value];
      return rule.value;
    }),
  );
}

/** Policies of a named backend that MCP targets do not have. */
const requestsOnly = policiesOn('backend').filter((name) => !policiesOn('target').includes(name));

const ofMcpBackends = policiesOn('mcpBackend') as readonly string[];

/** The members of a map. */
const namesOf = ({ value }: Node): readonly string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];

/** A policy of an MCP backend judges before a backend is chosen, so its backend must be the only one. */
function checkBackendsOf(route: Node, referred: (name: string) => Node | undefined, report: Report): void {
  const backends = items(field(route, 'backends'));
  if (backends.length < 2) return;
  for (const backend of backends) {
    const name = field(backend, 'backend').value;
    const named = typeof name === 'string' ? referred(nameOfBackend(name)) : undefined;
    for (const place of [backend, ...(named === undefined ? [] : [named])]) {
      if (field(named ?? backend, 'mcp').value === undefined) continue;
      const policies = field(place, 'policies');
      for (const policy of namesOf(policies).filter((one) => ofMcpBackends.includes(one)))
        report(
          named === undefined ? field(policies, policy).path : field(backend, 'backend').path,
          named === undefined ? 'key' : 'value',
          `${policy} of an MCP backend needs a route with this backend only: write it on the route`,
        );
    }
  }
}

/** MCP servers that are named among the backends. */
function checkTargets(
  mcp: Node,
  named: readonly Node[],
  names: readonly string[],
  hasPins: boolean,
  report: Report,
): void {
  const targets = items(field(mcp, 'targets'));
  unique(targets, 'name', 'another target has this name', report);
  for (const target of targets)
    for (const [form, member] of backendReferences)
      checkServer(field(field(target, form), member), named, names, report);
  checkView(field(mcp, 'view'), targets, report);
  if (field(mcp, 'statefulMode').value !== 'stateless') checkScopes(targets, report);
  const pin = field(mcp, 'pin');
  if (pin.value !== undefined && !hasPins)
    report(
      pin.path,
      'key',
      'needs config.mcp.pins, the folder that remembers the definitions, or config.store',
    );
}

/** A child that sessions share would mix them up. */
function checkScopes(targets: readonly Node[], report: Report): void {
  for (const target of targets)
    for (const form of childFieldNames) {
      const { value, path } = field(field(target, form), 'scope');
      if (value === 'shared')
        report(path, 'value', 'needs `statefulMode: stateless`: sessions share no program');
    }
}

/** Entries of a view name targets of the backend. */
function checkView(view: Node, targets: readonly Node[], report: Report): void {
  const names = targets
    .map((target) => field(target, 'name').value)
    .filter((name) => typeof name === 'string');
  for (const list of ['tools', 'prompts', 'resources'])
    for (const entry of items(field(view, list))) {
      const { value, path } = field(entry, 'target');
      if (typeof value === 'string' && !names.includes(value))
        report(path, 'value', `there is no target ${JSON.stringify(value)}`, suggestion(value, names));
      // A resource keeps its URI, which tells its target.
      if (list === 'resources' || value !== undefined || names.length < 2) continue;
      if (field(entry, 'as').value !== undefined)
        report(
          field(entry, 'as').path,
          'value',
          'with several targets, a new name needs the `target` of its item',
        );
    }
}

function checkServer(
  { value: written, path }: Node,
  named: readonly Node[],
  names: readonly string[],
  report: Report,
): void {
  if (typeof written !== 'string') return;
  const value = nameOfBackend(written);
  const found = named.find((one) => field(one, 'name').value === value);
  if (found === undefined)
    report(path, 'value', `there is no backend ${JSON.stringify(value)}`, suggestion(value, names));
  else if (field(found, 'host').value === undefined)
    report(path, 'value', `${value} is no server with a \`host\`, which a target needs`);
  else
    for (const name of requestsOnly)
      if (field(field(found, 'policies'), name).value !== undefined)
        report(
          path,
          'value',
          `${value} has ${name}, which MCP targets do not have: they get messages, and no requests of clients`,
        );
}

function checkBackends(top: Node, report: Report): void {
  const named = items(field(top, 'backends'));
  unique(named, 'name', 'another backend has this name', report);
  const names = named
    .map((backend) => field(backend, 'name').value)
    .filter((name) => typeof name === 'string');
  const routesOf = (kind: string): Node[] => [
    ...items(field(top, 'binds')).flatMap((bind) =>
      items(field(bind, 'listeners')).flatMap((listener) => items(field(listener, kind))),
    ),
    ...items(field(top, kind)),
  ];
  const referred = (name: string): Node | undefined => named.find((one) => field(one, 'name').value === name);
  const backendsOfRoutes = routesOf('routes').flatMap((route) => items(field(route, 'backends')));
  const config = field(top, 'config');
  const hasPins = [field(field(config, 'mcp'), 'pins'), field(config, 'store')].some(
    ({ value }) => value !== undefined,
  );
  for (const mcp of [top, ...named, ...backendsOfRoutes].map((node) => field(node, 'mcp')))
    checkTargets(mcp, named, names, hasPins, report);
  for (const route of routesOf('tcpRoutes'))
    for (const backend of items(field(route, 'backends'))) {
      const { value: written, path } = field(backend, 'backend');
      if (typeof written !== 'string') continue;
      const value = nameOfBackend(written);
      const found = referred(value);
      if (found === undefined)
        report(path, 'value', `there is no backend ${JSON.stringify(value)}`, suggestion(value, names));
      else if (field(found, 'host').value === undefined)
        report(path, 'value', `${value} is no server with a \`host\`, which tcpRoutes need`);
    }
  checkCollectors(top, referred, names, report);
  checkServers(top, referred, names, report);
  for (const backend of backendsOfRoutes) {
    const { value: written, path } = field(backend, 'backend');
    if (typeof written !== 'string') continue;
    const value = nameOfBackend(written);
    if (!names.includes(value))
      report(path, 'value', `there is no backend ${JSON.stringify(value)}`, suggestion(value, names));
    const found = referred(value);
    if (found === undefined) continue;
    const policies = field(backend, 'policies');
    for (const name of namesOf(policies)) {
      const problem = misplacedOnBackend(name, field(found, 'mcp').value !== undefined);
      if (problem !== undefined) report(field(policies, name).path, 'key', problem);
    }
  }
  for (const route of routesOf('routes')) checkBackendsOf(route, referred, report);
}

/** A server that a policy calls, as it is written. */
interface CalledServer {
  readonly by: string;
  readonly server: Node;
}

/** The servers of policies below a node, wherever policies may stand. */
function calledServers(node: Node, parent?: string): CalledServer[] {
  const inside = [...items(node).map((item) => ({ name: undefined, node: item })), ...entries(node)].flatMap(
    ({ name, node: member }) => calledServers(member, name),
  );
  if (parent === 'exchange') return [{ by: parent, server: node }, ...inside];
  if (parent !== 'policies') return inside;
  const called = serverCallers.flatMap(({ policy, paths }) =>
    paths.flatMap((path) => nodesAt(field(node, policy), path).map((server) => ({ by: policy, server }))),
  );
  return [...called, ...inside];
}

/** The nodes of a path with dots; `*` stands for the entries of a list. The empty path is the node itself. */
const nodesAt = (node: Node, path: string): readonly Node[] =>
  (path === '' ? [] : path.split('.')).reduce<readonly Node[]>(
    (nodes, step) => nodes.flatMap((one) => (step === '*' ? items(one) : [field(one, step)])),
    [node],
  );

/** Policies call a server at its host, with its TLS, and use no other setting of a named backend. */
function checkServers(
  top: Node,
  referred: (name: string) => Node | undefined,
  names: readonly string[],
  report: Report,
): void {
  for (const { by, server } of calledServers(top)) {
    const { value: written, path } = field(server, 'backend');
    if (typeof written !== 'string') continue;
    const value = nameOfBackend(written);
    const backend = referred(value);
    if (backend === undefined)
      report(path, 'value', `there is no backend ${JSON.stringify(value)}`, suggestion(value, names));
    else if (field(backend, 'host').value === undefined)
      report(path, 'value', `${value} is no server with a \`host\`, which ${by} needs`);
    else {
      const unused = [
        ...(field(backend, 'addresses').value === undefined ? [] : ['addresses']),
        ...namesOf(field(backend, 'policies')).filter((name) => name !== 'backendTLS'),
      ];
      for (const name of unused)
        report(
          path,
          'value',
          `${value} has \`${name}\`, which ${by} does not use: it uses the host and backendTLS`,
        );
    }
  }
}

/** A collector is a server that is reached without the policies of backends. */
function checkCollectors(
  top: Node,
  referred: (name: string) => Node | undefined,
  names: readonly string[],
  report: Report,
): void {
  const frontend = field(top, 'frontendPolicies');
  const tracing = field(field(top, 'config'), 'tracing');
  const tracesElsewhere = field(frontend, 'tracing').value !== undefined;
  if (tracing.value !== undefined && !tracesElsewhere && field(tracing, 'otlpEndpoint').value === undefined)
    report(tracing.path, 'key', 'expected otlpEndpoint, the address of the collector');
  const logs = ['accessLog', 'logging'].map((name) => field(field(frontend, name), 'otlp'));
  for (const collector of [field(frontend, 'tracing'), ...logs]) {
    const { value: written, path } = field(collector, 'backend');
    if (typeof written !== 'string') continue;
    const value = nameOfBackend(written);
    const found = referred(value);
    if (found === undefined)
      report(path, 'value', `there is no backend ${JSON.stringify(value)}`, suggestion(value, names));
    else if (field(found, 'host').value === undefined)
      report(path, 'value', `${value} is no server with a \`host\`, which a collector needs`);
    else
      for (const name of ['policies', 'addresses'])
        if (field(found, name).value !== undefined)
          report(path, 'value', `${value} has \`${name}\`, which collectors do not use: write a \`host\``);
  }
}

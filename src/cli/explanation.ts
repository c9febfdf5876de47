import { explainTarget } from '../mcp/targets/facts.ts';
import {
  compareHostnames,
  formatDuration,
  sortedRules,
  type Backend,
  type HttpListener,
  type InvalidBackend,
  type Listener,
  type ListenAddress,
  type Match,
  type McpBackend,
  type McpTarget,
  type Model,
  type NetworkTarget,
  type Place,
  type PolicyUse,
  type Route,
  type ServerTls,
  type TcpBackend,
  type TcpListener,
  type TcpRoute,
  type UdpBackend,
  type UdpListener,
} from '../model/index.ts';
import { answeringPolicies, policyOrder } from '../policies/facts.ts';
import { hideSecretForms, redactArguments } from '../telemetry/index.ts';
import { decisionLines } from './ruleDecisions.ts';

/**
 * Explains a configuration to people. Of the settings of policies, only rules are shown: the others may hold secrets.
 * Secrets that this process knows, and values of flags such as `--token`, are replaced.
 */
export function explanation(model: Model): string {
  const lines: string[] = [];
  for (const { port, address, listeners } of model.binds) {
    const on = address === undefined ? '' : ` on ${address}`;
    lines.push(`port ${port === 0 ? '0 (the system chooses)' : port}${on}`);
    for (const listener of listeners.toSorted((a, b) => compareHostnames(hostnameOf(a), hostnameOf(b))))
      lines.push(...indent(listenerLines(listener)));
    lines.push('');
  }
  if (model.binds.length === 0) lines.push('no port is served', '');
  const { admin, stats, readiness } = model.process.fixed;
  lines.push(
    `admin      ${address(admin)}`,
    `metrics    ${address(stats)}`,
    `readiness  ${address(readiness)}`,
  );
  return `${lines.map(hideSecretForms).join('\n')}\n`;
}

const hostnameOf = (listener: Listener): string | undefined =>
  listener.protocol === 'UDP' ? undefined : listener.hostname;

function listenerLines(listener: Listener): string[] {
  if ('tcpRoutes' in listener) return tcpLines(listener);
  if ('udpRoutes' in listener) return udpLines(listener);
  return httpLines(listener);
}

function tcpLines({ name, protocol, hostname, tls, tcpRoutes }: TcpListener): string[] {
  const kind = protocol === 'TCP' ? 'TCP' : tls === undefined ? 'TLS passed through' : 'TLS that ends here';
  return [
    `listener ${name}, ${protocol === 'TCP' ? kind : `${hostname ?? 'every server name'}, ${kind}`}`,
    ...indent(
      tcpRoutes.length === 0 ? ['no route: every connection is closed'] : tcpRoutes.flatMap(tcpRouteLines),
    ),
  ];
}

const tcpRouteLines = (route: TcpRoute): string[] => [
  `route ${route.name}${route.hostnames.length === 0 ? '' : `, ${route.hostnames.join(', ')}`} (${where(route.place)})`,
  ...indent(rawBackendLines(route.backends, 'connections')),
];

function udpLines({ name, udpRoutes }: UdpListener): string[] {
  const [route] = udpRoutes;
  return [
    `listener ${name}, UDP`,
    ...indent(
      route === undefined
        ? ['no route: datagrams are dropped']
        : [
            `route ${route.name} (${where(route.place)})`,
            ...indent(rawBackendLines(route.backends, 'clients')),
          ],
    ),
  ];
}

function rawBackendLines(
  backends: readonly (TcpBackend | UdpBackend | InvalidBackend)[],
  what: string,
): string[] {
  const total = backends.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return [`no backend: all ${what} are refused`];
  return backends.map((backend) => {
    const part = share(backend.weight, total, what);
    if (backend.kind === 'invalid') return `refused (${backend.problem})${part}`;
    const tls = backend.kind === 'tcp' && backend.tls !== undefined ? 'tls' : backend.kind;
    return `backend ${tls}://${atHost(backend)}${part}${atAddresses(backend)}`;
  });
}

function httpLines(listener: HttpListener): string[] {
  const rules = sortedRules(listener);
  const routes = [...new Set(rules.map(({ route }) => route))];
  return [
    `listener ${listener.name}, ${listener.hostname ?? 'every host'}`,
    ...indent([
      ...tlsLines(listener.tls),
      ...policyLines(listener.policies),
      ...(rules.length === 0
        ? ['no route: every request is answered with 404']
        : ['match order, the first that holds wins:']),
      ...indent(
        columns(
          rules.map(({ hostname, match, route }, index) => [
            `${index + 1}.`,
            hostname ?? listener.hostname ?? '*',
            ...matchCells(match),
            `→ ${route.name}`,
          ]),
        ),
      ),
      ...routes.flatMap((route) => routeLines(route, listener.policies)),
    ]),
  ];
}

function matchCells({ path, method, headers, query }: Match): string[] {
  const kinds = { exact: 'exactly', prefix: 'below', regex: 'regex' };
  const conditions = [
    ...headers.map(({ name, kind, value }) => `header ${name} ${kind === 'exact' ? '=' : '~'} ${value}`),
    ...query.map(({ name, kind, value }) => `query ${name} ${kind === 'exact' ? '=' : '~'} ${value}`),
  ];
  return [method ?? 'any method', `${kinds[path.kind]} ${path.value}`, conditions.join(', ')];
}

function routeLines(route: Route, inherited: readonly PolicyUse[]): string[] {
  const total = route.backends.reduce((sum, { weight }) => sum + weight, 0);
  const direct = route.policies.some(({ name }) => answeringPolicies.has(name));
  return [
    `route ${route.name} (${where(route.place)})`,
    ...indent([
      ...inheritedLines(inherited),
      ...policyLines(route.policies),
      ...route.backends.flatMap((backend) => backendLines(backend, total)),
      ...(route.backends.length === 0 ? [direct ? 'answers by itself' : 'no backend: answers 500'] : []),
    ]),
  ];
}

/** Policies of the listener run before those of each of its routes. */
const inheritedLines = (policies: readonly PolicyUse[]): string[] =>
  policies.length === 0 ? [] : [`policies of the listener: ${inOrder(policies).join(' → ')}`];

const inOrder = (policies: readonly PolicyUse[]): string[] =>
  policies.toSorted((a, b) => policyOrder(a.name) - policyOrder(b.name)).map(({ name }) => name);

function tlsLines(tls: ServerTls | undefined): string[] {
  if (tls === undefined) return [];
  const { cert, more = [], root, rootOptional, minVersion, maxVersion } = tls;
  const certificates = [cert, ...more.map((one) => one.cert)].map((pem) =>
    'file' in pem ? pem.file : 'inline',
  );
  const versions = minVersion === maxVersion ? minVersion : `${minVersion} to ${maxVersion}`;
  const clients = root === undefined ? '' : `, client certificates ${rootOptional ? 'optional' : 'required'}`;
  return [`${versions}, certificate ${certificates.join(', ')}${clients}`];
}

function policyLines(policies: readonly PolicyUse[]): string[] {
  if (policies.length === 0) return [];
  const sorted = policies.toSorted((a, b) => policyOrder(a.name) - policyOrder(b.name));
  return [`policies: ${sorted.map(({ name }) => name).join(' → ')}`, ...indent(decisionLines(sorted))];
}

function backendLines(backend: Backend, total: number): string[] {
  const part = share(backend.weight, total, 'requests');
  if (backend.kind === 'http') {
    const scheme = backend.tls === undefined ? 'http' : 'https';
    return [`backend ${scheme}://${atHost(backend)}${part}${atAddresses(backend)}`];
  }
  if (backend.kind === 'invalid') return [`refused (${backend.problem})${part}`];
  if (backend.kind === 'console')
    return [
      `the console of this gateway${part}: ${backend.operators === undefined ? 'viewers only' : 'viewers, and operators by ui.operators'}`,
    ];
  const traits = mcpTraits(backend);
  return [
    `backend MCP${part}${traits.length === 0 ? '' : `: ${traits.join('; ')}`}`,
    ...indent(backend.targets.map(targetLine)),
  ];
}

/** The differences between the targets and the server that clients see. */
function mcpTraits({
  targets,
  prefixMode,
  prefixSeparator = '_',
  failOpen,
  view,
  pin,
  stateless,
}: McpBackend): string[] {
  const several = targets.length > 1;
  const prefixed = prefixMode === 'always' || (prefixMode === 'conditional' && several);
  const counts = (['tools', 'prompts', 'resources'] as const).flatMap((kind) => {
    const entries = view?.[kind];
    return entries === undefined
      ? []
      : [`${entries.length} ${entries.length === 1 ? 'entry' : 'entries'} for ${kind}`];
  });
  return [
    ...(prefixed ? [`names begin with the target and "${prefixSeparator}"`] : []),
    ...(several && !prefixed ? ['the first target that has a name owns it'] : []),
    ...(several ? [failOpen === true ? 'dead targets are left out' : 'a dead target fails the session'] : []),
    ...(view === undefined
      ? []
      : [`view with ${counts.join(', ')}${view.rest === 'show' ? ', the rest is shown' : ''}`]),
    ...(pin === undefined
      ? []
      : [pin === 'enforce' ? 'changed tools are withheld' : 'changed tools are logged']),
    ...(stateless === true ? ['no sessions'] : []),
  ];
}

function share(weight: number, total: number, what: string): string {
  const percent = total === 0 ? 0 : Math.round((weight / total) * 1000) / 10;
  return percent === 100 ? '' : `, ${percent} % of the ${what}`;
}

const atHost = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

const atAddresses = ({ addresses }: { readonly addresses?: readonly unknown[] }): string =>
  addresses === undefined ? '' : `, at ${addresses.length} addresses`;

function targetLine(target: McpTarget): string {
  const { server, details } = explainTarget(target, { url: urlOf, command, calls: callTimes(target) });
  return `target ${target.name}: ${server}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
}

const urlOf = (target: NetworkTarget): string =>
  `${target.tls === undefined ? 'http' : 'https'}://${atHost(target)}${target.path}${atAddresses(target)}`;

const command = (program: string, args: readonly string[]): string =>
  [program, ...redactArguments(args)].map(quoted).join(' ');

function callTimes({ callTimeoutMs, toolTimeoutsMs = {} }: McpTarget): string[] {
  const within = (ms: number): string => (ms === 0 ? 'without limit' : `within ${formatDuration(ms)}`);
  return [
    ...(callTimeoutMs === undefined ? [] : [`answers calls ${within(callTimeoutMs)}`]),
    ...Object.entries(toolTimeoutsMs).map(([tool, ms]) => `${tool} ${within(ms)}`),
  ];
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function address(given: ListenAddress): string {
  if (given.kind === 'off') return 'off';
  if (given.kind === 'unix') return `unix:${given.path}`;
  return `http://${given.host.includes(':') ? `[${given.host}]` : given.host}:${given.port}`;
}

function where({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, index) => Math.max(cell.length, widest[index] ?? 0)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, index) => (widths[index] === 0 ? '' : `${cell.padEnd(widths[index] ?? 0)}  `))
      .join('')
      .trimEnd(),
  );
}

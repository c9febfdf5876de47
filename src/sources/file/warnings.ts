import {
  reachableHostnames,
  sortedRules,
  type HttpListener,
  type ListenAddress,
  type Model,
  type Place,
  type PolicyUse,
  type Route,
} from '../../model/index.ts';
import type { Problem } from './problem.ts';

/**
 * What is valid and still hardly meant.
 *
 * @param routes Routes that attach to gateways by name, whether or not one of them serves the route.
 */
export function warningsOf(
  model: Model,
  places: { readonly top: Place; readonly admin: Place },
  routes: readonly Route[],
): Problem[] {
  const warnings: Problem[] = [];
  const warn = ({ file: where, line, column, path }: Place, message: string, hint?: string): void => {
    const problem = { file: where, line, column, path, message };
    warnings.push(hint === undefined ? problem : { ...problem, hint });
  };

  if (model.binds.length === 0)
    warn(places.top, 'nothing is served', 'add `binds`, or `gateways` with `routes` or `mcp`');
  if (isExposed(model.process.fixed.admin))
    warn(places.admin, 'the admin interface has no login and can be reached from other machines');

  const served = new Set<Route>();
  for (const listener of model.binds.flatMap((bind) => bind.listeners)) {
    if (!('routes' in listener)) continue;
    warnOfListener(listener, warn);
    for (const route of listener.routes) served.add(route);
  }
  for (const route of served) warnOfRoute(route, warn);
  for (const route of routes)
    if (!served.has(route))
      warn(route.place, 'no listener of its gateways serves any of its host names; the route is never used');
  return warnings;
}

type Warn = (place: Place, message: string, hint?: string) => void;

function isExposed(address: ListenAddress): boolean {
  return address.kind === 'tcp' && !address.host.startsWith('127.') && address.host !== '::1';
}

function warnOfListener(listener: HttpListener, warn: Warn): void {
  for (const route of listener.routes) {
    if (reachableHostnames(listener.hostname, route.hostnames).length === 0)
      warn(
        route.place,
        `none of its host names belongs to the listener (${listener.hostname ?? ''}); the route is never used`,
      );
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

/** Policies about a request that is forwarded over HTTP. */
const aboutForwarding = new Set([
  'urlRewrite',
  'requestMirror',
  'retry',
  'buffer',
  'backendAuth',
  'sessionPersistence',
]);

function warnOfRoute(route: Route, warn: Warn): void {
  for (const backend of route.backends)
    if (backend.kind === 'http' && backend.tls?.insecure === true)
      warn(
        backend.place,
        'backendTLS.insecure: whoever can answer at its address gets its requests; the certificate is not verified',
        'name the authority with `root`',
      );
  if (route.policies.some(({ name }) => name === 'directResponse' || name === 'requestRedirect')) return;
  if (route.backends.some((backend) => backend.kind === 'mcp'))
    for (const { name, place } of route.policies)
      if (aboutForwarding.has(name))
        warn(place, 'does nothing for MCP servers: no HTTP request is sent to them');
  if (route.backends.length === 0) warn(route.place, 'has no backend: every request is answered with 500');
  else if (route.backends.every((backend) => backend.weight === 0))
    warn(route.place, 'has only backends of weight 0: every request is answered with 500');
}

/** What a policy asks callers for. */
const credentials: Readonly<Record<string, string>> = {
  mcpAuthentication: 'token',
  jwtAuth: 'token',
  basicAuth: 'password',
  apiKey: 'key',
};

/** Without a strict mode callers come in without a token; only a rule can then keep them out. */
function warnOfMode(policy: PolicyUse, beside: readonly PolicyUse[], warn: Warn): void {
  const credential = credentials[policy.name];
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
  return policies.some(({ name, settings }) => {
    const set = name === 'mcpAuthentication' ? member(settings, 'authorization') : settings;
    const rules = name.toLowerCase().includes('auth') ? member(set, 'rules') : undefined;
    return Array.isArray(rules) && rules.length > 0;
  });
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

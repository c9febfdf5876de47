import type { Place, PolicyUse } from '../../model/index.ts';
import { policyNames, type PolicyName } from '../../policies/facts.ts';
import type {
  HeaderFilter,
  MirrorFilter,
  PathModifier,
  RedirectFilter,
  Reference,
  RouteFilter,
} from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import { corsSettings } from './cors.ts';
import { checked, type Settings } from './settings.ts';

/** The policies that the filters of a rule or backend stand for. */
export interface Filters {
  readonly policies: readonly PolicyUse[];
  readonly mirrors: readonly MirrorFilter[];
  /** An `ExtensionRef` that cannot be followed: nothing is served as if it were not there. */
  readonly unresolved?: Problem;
}

/** The place of the filters. */
export interface FilterPlace {
  readonly place: Place;
  /** Port of the listener: redirects name it. */
  readonly port: number;
  /** All matches of the rule are prefixes, so that there is one to be replaced. */
  readonly prefixed: boolean;
  /** The policies that an `ExtensionRef` names. */
  readonly extension: (reference: Reference) => readonly PolicyUse[] | Problem;
}

/** A kind of filter → the policy that does it. What is missing here is refused by name. */
const kinds: Readonly<Record<string, (filter: RouteFilter, at: FilterPlace) => Settings | Problem>> = {
  RequestHeaderModifier: ({ requestHeaderModifier }) =>
    headers(policyNames.requestHeaderModifier, requestHeaderModifier),
  ResponseHeaderModifier: ({ responseHeaderModifier }) =>
    headers(policyNames.responseHeaderModifier, responseHeaderModifier),
  RequestRedirect: ({ requestRedirect = {} }, at) => redirect(requestRedirect, at),
  URLRewrite: ({ urlRewrite: { hostname, path } = {} }, at) =>
    withPath(path, at) ??
    checked(policyNames.urlRewrite, {
      ...(hostname === undefined ? {} : { authority: { full: hostname } }),
      ...pathOf(path),
    }),
  CORS: ({ cors = {} }) => {
    const settings = corsSettings(cors);
    return typeof settings === 'string'
      ? problem('UnsupportedValue', settings)
      : { name: policyNames.cors, settings };
  },
};

/** Filters that may stand several times. */
const repeatable: ReadonlySet<string> = new Set(['RequestMirror', 'ExtensionRef']);

/**
 * @returns the policies that do what the filters ask for. They act in the order of the policies' table, whatever the
 *   order of the filters
 */
export function readFilters(filters: readonly RouteFilter[] = [], at: FilterPlace): Filters | Problem {
  const policies: PolicyUse[] = [];
  const mirrors: MirrorFilter[] = [];
  const seen = new Set<string>();
  let unresolved: Problem | undefined;
  for (const filter of filters) {
    const { type } = filter;
    if (seen.has(type) && !repeatable.has(type))
      return problem('IncompatibleFilters', `filter ${type} stands twice`);
    seen.add(type);
    if (type === 'RequestMirror') {
      if (filter.requestMirror !== undefined) mirrors.push(filter.requestMirror);
      continue;
    }
    if (type === 'ExtensionRef') {
      const named = at.extension(filter.extensionRef ?? { name: '' });
      if ('reason' in named) unresolved ??= named;
      else policies.push(...named);
      continue;
    }
    const made = kinds[type]?.(filter, at) ?? problem('UnsupportedValue', `filter ${type} is not supported`);
    if ('reason' in made) return made;
    policies.push({ ...made, place: at.place });
  }
  if (seen.has('URLRewrite') && seen.has('RequestRedirect'))
    return problem('IncompatibleFilters', 'URLRewrite and RequestRedirect exclude each other');
  const twice = repeated(policies);
  if (twice !== undefined) return twice;
  return { policies, mirrors, ...(unresolved === undefined ? {} : { unresolved }) };
}

/** Two policies for the same thing: neither is the right one. */
export function repeated(policies: readonly PolicyUse[]): Problem | undefined {
  const names = policies.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined
    ? undefined
    : problem('IncompatibleFilters', `${twice} is said twice, by filters or fields of the rule`);
}

function headers(name: PolicyName, { set, add, remove }: HeaderFilter = {}): Settings | Problem {
  return checked(name, { set: record(set), add: record(add), remove: remove ?? [] });
}

/** If a name appears several times, whatever its case, the first counts (HTTPHeader). */
function record(list: HeaderFilter['set'] = []): Record<string, string> {
  const seen = new Set<string>();
  const kept = list.filter(({ name }) => {
    const lower = name.toLowerCase();
    return !seen.has(lower) && seen.add(lower);
  });
  return Object.fromEntries(kept.map(({ name, value }) => [name, value]));
}

const usualPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** Without a port of its own it leads to the usual one of its scheme, or to that of the listener, never to the Host's. */
function redirect(
  { scheme, hostname, path, port, statusCode }: RedirectFilter,
  at: FilterPlace,
): Settings | Problem {
  const target = port ?? (scheme === undefined ? at.port : usualPorts[scheme]);
  return (
    withPath(path, at) ??
    checked(policyNames.requestRedirect, {
      ...(scheme === undefined ? {} : { scheme }),
      authority: hostname === undefined ? { port: target } : { full: `${hostname}:${target}` },
      ...pathOf(path),
      status: statusCode ?? 302,
    })
  );
}

function pathOf(path: PathModifier | undefined): { path?: { full: string } | { prefix: string } } {
  if (path === undefined) return {};
  return path.type === 'ReplaceFullPath'
    ? { path: { full: path.replaceFullPath ?? '' } }
    : // An empty prefix takes the old one away, as a slash does.
      { path: { prefix: path.replacePrefixMatch === '' ? '/' : (path.replacePrefixMatch ?? '/') } };
}

function withPath(path: PathModifier | undefined, { prefixed }: FilterPlace): Problem | undefined {
  if (path === undefined || path.type === 'ReplaceFullPath') return undefined;
  if (path.type !== 'ReplacePrefixMatch')
    return problem('UnsupportedValue', `path type ${path.type} is not supported`);
  return prefixed
    ? undefined
    : problem('UnsupportedValue', 'ReplacePrefixMatch needs PathPrefix in every match of the rule');
}

import type { Match, PathMatch, PolicyUse, Route, ValueMatch } from '../../model/index.ts';
import type { Path } from '../path.ts';
import type { BackendSettings, MatchSettings, RouteSettings } from '../schema/route.ts';
import { buildBackend } from './backend.ts';
import { buildPolicies, policiesFor } from './policies.ts';
import type { Surroundings } from './surroundings.ts';

const everyPath: PathMatch = { kind: 'prefix', value: '/' };

/** The match of a route without `matches`: everything. */
const everyRequest: Match = { path: everyPath, headers: [], query: [] };

/** @param owner Identity of what the route stands in; with the name of the route it makes the keys of its backends. */
export function buildRoute(
  settings: RouteSettings,
  name: string,
  owner: string,
  path: Path,
  around: Surroundings,
): Route {
  return {
    name,
    hostnames: [...new Set(settings.hostnames)],
    matches:
      settings.matches === undefined || settings.matches.length === 0
        ? [everyRequest]
        : settings.matches.map(buildMatch),
    policies: [
      ...buildPolicies(settings.policies, [...path, 'policies'], around),
      ...(settings.backends ?? []).flatMap((backend, index) =>
        mcpBackendPolicies(backend, [...path, 'backends', index], around),
      ),
    ],
    backends: (settings.backends ?? []).map((backend, index) =>
      buildBackend(backend, `${owner}/${name}/backend${index}`, [...path, 'backends', index], around, {
        backendTLS: settings.policies?.backendTLS,
      }),
    ),
    place: around.place(path),
  };
}

/** Policies of an MCP backend: it is the only one of its route, which carries them out. */
function mcpBackendPolicies(
  { backend: reference, mcp, policies }: BackendSettings,
  path: Path,
  around: Surroundings,
): readonly PolicyUse[] {
  const named = reference === undefined ? undefined : around.named.get(reference);
  if (mcp === undefined && named?.mcp === undefined) return [];
  const own = policiesFor('mcpBackend', { ...named?.policies, ...policies });
  return buildPolicies(own, [...path, 'policies'], around);
}

/** Routes and listeners without a name are counted; a counted name gives way to one that somebody chose. */
export function names(given: readonly (string | undefined)[], word: string): readonly string[] {
  const taken = new Set(given);
  return given.map((name, index) => {
    if (name !== undefined) return name;
    let counted = `${word}${index}`;
    while (taken.has(counted)) counted += '_';
    return counted;
  });
}

function buildMatch(settings: MatchSettings): Match {
  return {
    path: settings.path === undefined ? everyPath : buildPath(settings.path),
    ...(settings.method === undefined ? {} : { method: settings.method }),
    headers: (settings.headers ?? []).map(({ name, value }) => buildValue(name, value)),
    query: (settings.query ?? []).map(({ name, value }) => buildValue(name, value)),
  };
}

function buildPath({ exact, pathPrefix, regex }: NonNullable<MatchSettings['path']>): PathMatch {
  if (exact !== undefined) return { kind: 'exact', value: exact };
  if (regex !== undefined) return { kind: 'regex', value: regex };
  // A prefix holds for whole segments, so `/api/` and `/api` are the same one.
  return { kind: 'prefix', value: pathPrefix?.replace(/\/+$/, '') || '/' };
}

function buildValue(
  name: string,
  { exact, regex }: { exact?: string | undefined; regex?: string | undefined },
): ValueMatch {
  return regex === undefined
    ? { name, kind: 'exact', value: exact ?? '' }
    : { name, kind: 'regex', value: regex };
}

import { isDeepStrictEqual } from 'node:util';
import type { AnyRoute, Gateway, Named } from '../types/index.ts';
import { sameData } from './conditions.ts';
import type { KubeObjects, StatusUpdate, TranslateOptions, Translation } from './contract.ts';
import { EndpointFinder } from './endpoints.ts';
import { translate } from './index.ts';
import { askedFields, keyOfNamed, newAsked, type Asked } from './lookup.ts';
import { GatewayNames } from './routeParents.ts';

const routeFields = ['httpRoutes', 'grpcRoutes', 'tlsRoutes', 'tcpRoutes', 'udpRoutes'] as const;
type RouteField = (typeof routeFields)[number];

/** A change to any of these objects triggers a full translation: each may matter to any Gateway. */
const decisive = [
  'gatewayClasses',
  'listenerSets',
  'referenceGrants',
  'parameters',
] as const satisfies readonly (keyof KubeObjects)[];

/** Their status tells of routes of every Gateway, so where there is one there are no parts. */
const spanning = [
  'backendTLSPolicies',
  'gatewayPolicies',
  'mcpBackends',
] as const satisfies readonly (keyof KubeObjects)[];

/** After so long everything is translated once more, so that no mistake of the parts lives on. */
const wholeEveryMs = 300_000;

interface Known {
  readonly objects: KubeObjects;
  readonly options: TranslateOptions;
  readonly translation: Translation;
  readonly report: ReadonlyMap<string, StatusUpdate>;
  /** By the whole translation and all of its parts since. */
  readonly asked: Asked;
  /** `Date.now()` of the last whole translation. */
  readonly wholeAt: number;
}

/** The part to translate anew. */
interface Part {
  /** By `namespace/name`. */
  readonly gateways: ReadonlySet<string>;
  readonly routes: Readonly<Record<RouteField, readonly AnyRoute[]>>;
  /** Keys of the report that may not be there any more. */
  readonly stale: ReadonlySet<string>;
  /** The reported status of objects that already say it. */
  readonly settled: ReadonlyMap<string, StatusUpdate>;
}

/**
 * Translates again and again. Where only routes, addresses, what is known of proxies, and what nobody ever asked for
 * have changed, it translates the Gateways that these routes name, or named, with all that shares a route with them, and
 * keeps the rest. The outcome is that of `translate`, as a test with random changes sees to.
 */
export class Translator {
  private known: Known | undefined;
  /** Translations so far that were of a part only. */
  parts = 0;

  /** Names that the last translation asked for; more of them where it was of a part. */
  get asked(): Asked {
    return this.known?.asked ?? newAsked();
  }

  translate(objects: KubeObjects, options: TranslateOptions): Translation {
    const { known } = this;
    const part =
      known === undefined || Date.parse(options.now) - known.wholeAt > wholeEveryMs
        ? undefined
        : partOf(known, objects, options);
    if (known === undefined || part === undefined) {
      const asked = newAsked();
      const translation = translate(objects, options, asked);
      this.known = {
        objects,
        options,
        translation,
        report: new Map(translation.report.map((update) => [keyOfUpdate(update), update])),
        asked,
        wholeAt: Date.parse(options.now),
      };
      return translation;
    }
    this.parts++;
    const { report, translation } = joined(known, part, objects, options);
    this.known = { ...known, objects, options, translation, report };
    return translation;
  }
}

const keyOfUpdate = ({ kind, namespace, name }: Pick<StatusUpdate, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace ?? ''}/${name}`;

/** Undefined where everything is to be translated. */
function partOf(known: Known, objects: KubeObjects, options: TranslateOptions): Part | undefined {
  const before = known.objects;
  if (spanning.some((field) => objects[field].length + before[field].length > 0)) return undefined;
  if (!decisive.every((field) => isSameList(before[field], objects[field]))) return undefined;
  if (askedFields.some((field) => isOtherFor(known.asked[field], before[field], objects[field])))
    return undefined;
  if (!hasSameSurroundings(known.options, options)) return undefined;
  const settled = new Map<string, StatusUpdate>();
  const gateways = changedGateways(known, objects, options, settled);
  if (gateways === undefined) return undefined;
  const names = new GatewayNames(objects.listenerSets);
  const stale = new Set<string>();
  const changed = new Set<AnyRoute>();
  for (const field of routeFields)
    for (const { old, now } of changesOf<AnyRoute>(before[field], objects[field])) {
      if (old !== undefined && now !== undefined && settle(known, keyOfRoute(field, now), old, now, settled))
        continue;
      for (const route of [old, now])
        if (route !== undefined) for (const name of names.of(route)) gateways.add(name);
      if (now !== undefined) changed.add(now);
      if (old !== undefined) stale.add(keyOfRoute(field, old));
    }
  // Gateways that share a route belong together: its status tells of both.
  const all = routeFields.flatMap((field) => objects[field] as readonly AnyRoute[]);
  for (let size = -1; size !== gateways.size;) {
    size = gateways.size;
    for (const route of all) {
      const named = names.of(route);
      if (named.some((name) => gateways.has(name))) for (const name of named) gateways.add(name);
    }
  }
  const isIn = (route: AnyRoute): boolean =>
    changed.has(route) || names.of(route).some((name) => gateways.has(name));
  const routes = Object.fromEntries(
    routeFields.map((field) => [field, (objects[field] as readonly AnyRoute[]).filter(isIn)]),
  ) as unknown as Part['routes'];
  const count = routeFields.reduce((sum, field) => sum + routes[field].length, 0);
  return count * 2 > all.length ? undefined : { gateways, routes, stale, settled };
}

const kindOf = {
  httpRoutes: 'HTTPRoute',
  grpcRoutes: 'GRPCRoute',
  tlsRoutes: 'TLSRoute',
  tcpRoutes: 'TCPRoute',
  udpRoutes: 'UDPRoute',
} as const satisfies Readonly<Record<RouteField, string>>;

const keyOfRoute = (field: RouteField, route: AnyRoute): string => `${kindOf[field]} ${keyOfNamed(route)}`;

/** Compares everything that is no object and not about one Gateway. */
const hasSameSurroundings = (a: TranslateOptions, b: TranslateOptions): boolean =>
  a.controllerName === b.controllerName &&
  a.process === b.process &&
  sameData(a.parameters, b.parameters) &&
  sameData(a.bundleVersions, b.bundleVersions);

/** The Gateways whose status, or whose proxies, are others; undefined where more than that has changed of any. */
function changedGateways(
  known: Known,
  { gateways }: KubeObjects,
  options: TranslateOptions,
  settled: Map<string, StatusUpdate>,
): Set<string> | undefined {
  const { objects: before, options: old } = known;
  if (before.gateways.length !== gateways.length) return undefined;
  const earlier = new Map(before.gateways.map((gateway) => [keyOfNamed(gateway), gateway]));
  const changed = new Set<string>();
  for (const gateway of gateways) {
    const key = keyOfNamed(gateway);
    const previous = earlier.get(key);
    if (previous === undefined || !isSameButForStatus(previous, gateway)) return undefined;
    if (
      (previous !== gateway && !settle(known, `Gateway ${key}`, previous, gateway, settled)) ||
      !isDeepStrictEqual(old.infrastructure.get(key), options.infrastructure.get(key)) ||
      !isDeepStrictEqual(old.troubles?.get(key), options.troubles?.get(key))
    )
      changed.add(key);
  }
  return changed;
}

/**
 * Has an object nothing new but the status that it was to have? Then all that is to be said of it is that it has it.
 * Thousands of statuses are written at the first start, each of which would have its Gateway translated once more.
 */
function settle(
  { report, options }: Known,
  key: string,
  old: Gateway | AnyRoute,
  now: Gateway | AnyRoute,
  settled: Map<string, StatusUpdate>,
): boolean {
  const update = report.get(key);
  if (update === undefined || !sameData(now.status, update.status) || !isSameButForStatus(old, now))
    return false;
  // A route that no longer names us is left alone from now on.
  const { parents } = update.status as { readonly parents?: readonly { readonly controllerName: string }[] };
  if (parents?.every(({ controllerName }) => controllerName !== options.controllerName) === true)
    return false;
  const { resourceVersion, ...rest } = update;
  const version = now.metadata.resourceVersion ?? resourceVersion;
  settled.set(key, {
    ...rest,
    changed: false,
    ...(version === undefined ? {} : { resourceVersion: version }),
  });
  return true;
}

const isSameButForStatus = (a: Gateway | AnyRoute, b: Gateway | AnyRoute): boolean =>
  a === b ||
  isDeepStrictEqual(
    { ...a, status: undefined, metadata: { ...a.metadata, resourceVersion: '' } },
    { ...b, status: undefined, metadata: { ...b.metadata, resourceVersion: '' } },
  );

const isSameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

/**
 * Is one of those that were asked for another one, gone, or there now? A translation that gets the same answers asks the
 * same questions, so the others are asked for as little as before: what the controller itself makes for proxies, for one.
 */
function isOtherFor(asked: ReadonlySet<string>, before: readonly Named[], after: readonly Named[]): boolean {
  for (const { old, now } of changesOf(before, after)) {
    const one = now ?? old;
    if (one !== undefined && asked.has(keyOfNamed(one))) return true;
  }
  return false;
}

function* changesOf<Kind extends Named>(
  before: readonly Kind[],
  after: readonly Kind[],
): Iterable<{ readonly old: Kind | undefined; readonly now: Kind | undefined }> {
  if (isSameList(before, after)) return;
  const earlier = new Map(before.map((object) => [keyOfNamed(object), object]));
  for (const now of after) {
    const key = keyOfNamed(now);
    const old = earlier.get(key);
    earlier.delete(key);
    if (old !== now) yield { old, now };
  }
  for (const old of earlier.values()) yield { old, now: undefined };
}

function joined(
  known: Known,
  { gateways, routes, stale, settled }: Part,
  objects: KubeObjects,
  options: TranslateOptions,
): Pick<Known, 'report' | 'translation'> {
  const part = translate(
    {
      ...objects,
      ...(routes as Partial<KubeObjects>),
      gateways: objects.gateways.filter((gateway) => gateways.has(keyOfNamed(gateway))),
    },
    options,
    known.asked,
  );
  const models = new Map(
    objects.gateways.flatMap((gateway) => {
      const key = keyOfNamed(gateway);
      const model = (gateways.has(key) ? part : known.translation).models.get(key);
      return model === undefined ? [] : [[key, model] as const];
    }),
  );
  const report = new Map(known.report);
  for (const key of stale) report.delete(key);
  for (const field of routeFields) for (const route of routes[field]) report.delete(keyOfRoute(field, route));
  for (const [key, update] of settled) report.set(key, update);
  for (const update of part.report) report.set(keyOfUpdate(update), update);
  const services = new Map(objects.services.map((service) => [keyOfNamed(service), service]));
  const finder = new EndpointFinder(services, objects.endpointSlices, objects.nodes);
  const keys = new Set([...models.values()].flatMap(({ endpoints }) => [...endpoints]));
  return {
    report,
    translation: {
      models,
      endpoints: finder.table(keys),
      report: [...report.values()],
      // McpBackends have everything translated: here are none.
      pods: part.pods,
      defects: part.defects,
    },
  };
}

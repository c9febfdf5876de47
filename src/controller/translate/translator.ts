import { isDeepStrictEqual } from 'node:util';
import type { AnyRoute, Gateway } from '../types/index.ts';
import {
  changesFor,
  changesOf,
  isSameButForStatus,
  isSameList,
  meets,
  podKeysOf,
  type PodKeys,
} from './changes.ts';
import { sameData } from './conditions.ts';
import type { KubeObjects, StatusKind, StatusUpdate, TranslateOptions, Translation } from './contract.ts';
import { translateTraced, type AskedData, type Part, type Routes, type Traced } from './index.ts';
import { keyOfNamed, type Asked } from './lookup.ts';
import { keyOfRoute, keyOfUpdate, routeFields } from './reportKeys.ts';
import { GatewayNames } from './routeParents.ts';
import { gatewaysWithUnread, holding } from './unread.ts';

/** A change to any of these objects triggers a full translation: each may matter to any Gateway. */
const decisive = [
  'gatewayClasses',
  'listenerSets',
  'parameters',
] as const satisfies readonly (keyof KubeObjects)[];

/** The objects whose status tells of several Gateways: it is made anew each time. */
const shared: ReadonlySet<string> = new Set([
  'GatewayClass',
  'BackendTLSPolicy',
  'GatewayPolicy',
  'McpBackend',
] satisfies StatusKind[]);

/** After so long everything is translated once more, so that no mistake of the parts lives on. */
const wholeEveryMs = 300_000;

interface Known extends Traced {
  readonly objects: KubeObjects;
  readonly options: TranslateOptions;
  readonly podKeys: PodKeys;
  /** By kind and name; changed in place. */
  readonly report: Map<string, StatusUpdate>;
  /** `Date.now()` of the last whole translation. */
  readonly wholeAt: number;
}

/** The part to translate anew, and what becomes of the report. */
interface Plan extends Pick<Part, 'gateways' | 'routes'> {
  /** Keys of the report that may not be there any more. */
  readonly stale: ReadonlySet<string>;
  /** The reported status of objects that already say it. */
  readonly settled: ReadonlyMap<string, StatusUpdate>;
}

/**
 * Translates again and again, and no more than it has to: the Gateways that a change matters to, with all that shares a
 * route with them. A change matters to the Gateways that a changed route names, or named, and to those that asked for the
 * changed object, which each Gateway notes (`Asked`). The status of policies and McpBackends tells of all Gateways that
 * use them: what the other Gateways make of them is remembered (`Uses`). The outcome is that of `translate`, as a test
 * with random changes sees to.
 */
export class Translator {
  private known: Known | undefined;
  /** Translations so far that were of a part only. */
  parts = 0;

  /** The Secrets and ConfigMaps that the last translation asked for. */
  get asked(): AskedData {
    const asked = { secrets: new Set<string>(), configMaps: new Set<string>() };
    for (const some of Object.values<ReadonlyMap<string, Asked>>({ ...this.known?.asked }))
      for (const { secrets, configMaps } of some.values()) {
        for (const name of secrets) asked.secrets.add(name);
        for (const name of configMaps) asked.configMaps.add(name);
      }
    return asked;
  }

  /** The Gateways, by `namespace/name`, whose models need a Secret or ConfigMap that is not in memory yet. */
  get unread(): ReadonlySet<string> {
    return this.known === undefined ? new Set() : gatewaysWithUnread(this.known);
  }

  /**
   * The last translation, in which some Gateways stay as they were.
   * @param held of `unread`
   * @param before the translation in use, if there is one
   */
  holding(held: ReadonlySet<string>, before: Translation | undefined): Translation | undefined {
    return this.known === undefined ? undefined : holding(this.known, held, before);
  }

  translate(objects: KubeObjects, options: TranslateOptions): Translation {
    const { known } = this;
    const podKeys = podKeysOf(objects, options);
    const isDue = known === undefined || Date.parse(options.now) - known.wholeAt > wholeEveryMs;
    const plan = isDue ? undefined : guarded(() => planFor(known, objects, options, podKeys));
    if (known === undefined || plan === undefined) {
      const traced = translateTraced(objects, options);
      const report = new Map(traced.translation.report.map((update) => [keyOfUpdate(update), update]));
      this.known = { ...traced, objects, options, podKeys, report, wholeAt: Date.parse(options.now) };
    } else {
      this.parts++;
      const joint = joined(known, plan, objects, options);
      this.known = { ...joint, objects, options, podKeys, wholeAt: known.wholeAt };
    }
    return this.known.translation;
  }
}

/** An object that breaks the plan breaks nothing but itself in a whole translation, which names it. */
function guarded(make: () => Plan | undefined): Plan | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Undefined where everything is to be translated. */
function planFor(
  known: Known,
  objects: KubeObjects,
  options: TranslateOptions,
  podKeys: PodKeys,
): Plan | undefined {
  const before = known.objects;
  if (!decisive.every((field) => isSameList(before[field], objects[field]))) return undefined;
  // Without any policy, no Gateway asks which policies are for its routes.
  if ((before.gatewayPolicies.length === 0) !== (objects.gatewayPolicies.length === 0)) return undefined;
  if (!hasSameSurroundings(known.options, options)) return undefined;
  const settled = new Map<string, StatusUpdate>();
  const gateways = changedGateways(known, objects, options, settled);
  if (gateways === undefined) return undefined;
  const changedNames = changesFor(known, { objects, options, podKeys });
  for (const [key, asked] of known.asked.gateways) if (meets(asked, changedNames)) gateways.add(key);
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
  ) as unknown as Routes;
  const count = routeFields.reduce((sum, field) => sum + routes[field].length, 0);
  return count * 2 > all.length ? undefined : { gateways, routes, stale, settled };
}

/** Compares everything that is no object and not about one Gateway. */
const hasSameSurroundings = (a: TranslateOptions, b: TranslateOptions): boolean =>
  a.controllerName === b.controllerName &&
  a.process === b.process &&
  a.pods?.isKnown === b.pods?.isKnown &&
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

function joined(
  known: Known,
  { gateways, routes, stale, settled }: Plan,
  objects: KubeObjects,
  options: TranslateOptions,
): Traced & Pick<Known, 'report'> {
  const kept = [...known.translation.models].filter(([key]) => !gateways.has(key));
  const traced = translateTraced(objects, options, {
    gateways,
    routes,
    uses: known.uses,
    endpoints: kept.flatMap(([, { endpoints }]) => [...endpoints]),
  });
  const { translation: part, asked, uses } = traced;
  // The only copy: another one for each change would be most of the garbage.
  const { report } = known;
  for (const [key, { kind }] of report) if (shared.has(kind)) report.delete(key);
  for (const key of stale) report.delete(key);
  for (const field of routeFields) for (const route of routes[field]) report.delete(keyOfRoute(field, route));
  for (const [key, update] of settled) report.set(key, update);
  for (const update of part.report) report.set(keyOfUpdate(update), update);
  return {
    report,
    translation: { ...part, models: new Map([...kept, ...part.models]), report: [...report.values()] },
    asked: { ...asked, gateways: new Map([...known.asked.gateways, ...asked.gateways]) },
    uses,
  };
}

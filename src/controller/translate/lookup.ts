import { keyOf } from '../api/object.ts';
import type { ConfigMap, Gateway, ListenerSet, Named, Namespace, Secret, Service } from '../types/index.ts';
import type { KubeObjects } from './contract.ts';
import { Grants } from './grants.ts';
import type { Guard } from './guard.ts';

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

/** Kinds of which a translation reads no more than what it asks for by name. */
export const askedFields = ['services', 'secrets', 'configMaps', 'namespaces'] as const;

/** By kind, the names that a translation asked for, whether there was one or not. No other object matters to it. */
export type Asked = Readonly<Record<(typeof askedFields)[number], Set<string>>>;

export const newAsked = (): Asked => ({
  services: new Set(),
  secrets: new Set(),
  configMaps: new Set(),
  namespaces: new Set(),
});

/** Objects that are asked for by name, and in no other way: so it is known which of them matter. */
export interface ByName<Kind> {
  get(name: string): Kind | undefined;
}

/** The objects by name, gathered once for a whole translation. */
export interface Lookup {
  readonly gateways: ReadonlyMap<string, Gateway>;
  readonly listenerSets: ReadonlyMap<string, ListenerSet>;
  readonly services: ByName<Service>;
  readonly secrets: ByName<Secret>;
  readonly configMaps: ByName<ConfigMap>;
  readonly namespaces: ByName<Namespace>;
  readonly grants: Grants;
}

/** @param asked gets the names that are asked for */
export const lookupOf = (objects: KubeObjects, guard: Guard, asked: Asked): Lookup => ({
  gateways: byKey(objects.gateways),
  listenerSets: byKey(objects.listenerSets),
  services: noted(objects.services, asked.services),
  secrets: noted(objects.secrets, asked.secrets),
  configMaps: noted(objects.configMaps, asked.configMaps),
  namespaces: noted(objects.namespaces, asked.namespaces),
  grants: new Grants(objects.referenceGrants, guard),
});

function noted<Kind extends Named>(all: readonly Kind[], asked: Set<string>): ByName<Kind> {
  const objects = byKey(all);
  return {
    get: (name) => {
      asked.add(name);
      return objects.get(name);
    },
  };
}

const byKey = <Kind extends Named>(all: readonly Kind[]): ReadonlyMap<string, Kind> =>
  new Map(all.map((object) => [keyOfNamed(object), object]));

/** `namespace/name`. */
export const keyOfNamed = ({ metadata }: Named): string => keyOf(metadata.namespace, metadata.name);

/** Older first, then by `namespace/name`: who goes first wherever the Gateway API has to choose. */
export function byAge(a: Named, b: Named): number {
  const [first = '', second = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second ? -1 : 1;
  return compareText(keyOfNamed(a), keyOfNamed(b));
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

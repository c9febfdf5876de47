import { keyOf } from '../api/object.ts';
import type { ConfigMap, Gateway, ListenerSet, Named, Namespace, Secret, Service } from '../types/index.ts';
import type { KubeObjects } from './contract.ts';
import { Grants } from './grants.ts';
import type { Guard } from './guard.ts';

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

/** The objects by name, gathered once for a whole translation. */
export interface Lookup {
  readonly gateways: ReadonlyMap<string, Gateway>;
  readonly listenerSets: ReadonlyMap<string, ListenerSet>;
  readonly services: ReadonlyMap<string, Service>;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly grants: Grants;
}

export const lookupOf = (objects: KubeObjects, guard: Guard): Lookup => ({
  gateways: byKey(objects.gateways),
  listenerSets: byKey(objects.listenerSets),
  services: byKey(objects.services),
  secrets: byKey(objects.secrets),
  configMaps: byKey(objects.configMaps),
  namespaces: byKey(objects.namespaces),
  grants: new Grants(objects.referenceGrants, guard),
});

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

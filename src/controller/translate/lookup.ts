import { keyOf } from '../api/object.ts';
import type { ConfigMap, Named, Namespace, Secret, Service } from '../types/index.ts';
import type { KubeObjects } from './contract.ts';
import { Grants, pairOf } from './grants.ts';
import type { Guard } from './guard.ts';

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

/** Kinds of which a translation reads no more than what it asks for by name. */
export const askedFields = ['services', 'secrets', 'configMaps', 'namespaces'] as const;

/** The names that were asked for, whether there was one or not. No other object matters to who asked. */
export interface Asked extends Readonly<Record<(typeof askedFields)[number], Set<string>>> {
  readonly mcpBackends: Set<string>;
  /** GatewayPolicies that an `ExtensionRef` names. */
  readonly gatewayPolicies: Set<string>;
  /** A possible target of a GatewayPolicy: `group/kind namespace/name`. */
  readonly policyTargets: Set<string>;
  /** Namespaces whose Services were chosen from by labels. */
  readonly serviceNamespaces: Set<string>;
  /** A pair that a ReferenceGrant can allow: `pairOf` the two parties. */
  readonly references: Set<string>;
  /** The Secrets and ConfigMaps among them whose data is not in memory yet. */
  readonly unread: Set<string>;
}

export const newAsked = (): Asked => ({
  services: new Set(),
  secrets: new Set(),
  configMaps: new Set(),
  namespaces: new Set(),
  mcpBackends: new Set(),
  gatewayPolicies: new Set(),
  policyTargets: new Set(),
  serviceNamespaces: new Set(),
  references: new Set(),
  unread: new Set(),
});

/** Objects that are asked for by name, and in no other way: so it is known which of them matter. */
export interface ByName<Kind> {
  get(name: string): Kind | undefined;
}

/** The objects as one Gateway, or one policy, sees them. */
export interface Lookup {
  readonly services: ByName<Service>;
  /** The Services of a namespace, in the order of their names. */
  readonly servicesIn: (namespace: string) => readonly Service[];
  readonly secrets: ByName<Secret>;
  readonly configMaps: ByName<ConfigMap>;
  readonly namespaces: ByName<Namespace>;
  readonly grants: Pick<Grants, 'permit'>;
  /** Gets the names that are asked for. */
  readonly asked: Asked;
}

/** The objects by name, gathered once for a translation. */
export class Lookups {
  readonly services: ReadonlyMap<string, Service>;
  private readonly secrets: ReadonlyMap<string, Secret>;
  private readonly configMaps: ReadonlyMap<string, ConfigMap>;
  private readonly namespaces: ReadonlyMap<string, Namespace>;
  private readonly grants: Grants;
  private byNamespace: ReadonlyMap<string, readonly Service[]> | undefined;

  constructor(objects: KubeObjects, guard: Guard) {
    this.services = byKey(objects.services);
    this.secrets = byKey(objects.secrets);
    this.configMaps = byKey(objects.configMaps);
    this.namespaces = byKey(objects.namespaces);
    this.grants = new Grants(objects.referenceGrants, guard);
  }

  /** @param asked gets the names that are asked for */
  noting(asked: Asked): Lookup {
    return {
      services: noted(this.services, asked.services),
      servicesIn: (namespace) => {
        asked.serviceNamespaces.add(namespace);
        return this.servicesIn(namespace);
      },
      secrets: notedData(this.secrets, asked.secrets, asked.unread),
      configMaps: notedData(this.configMaps, asked.configMaps, asked.unread),
      namespaces: noted(this.namespaces, asked.namespaces),
      grants: {
        permit: (from, to, name) => {
          // Within a namespace no ReferenceGrant matters.
          if (from.namespace !== to.namespace) asked.references.add(pairOf(from, to));
          return this.grants.permit(from, to, name);
        },
      },
      asked,
    };
  }

  /** Few translations choose by labels: the others do not pay for it. */
  private servicesIn(namespace: string): readonly Service[] {
    this.byNamespace ??= grouped(this.services.values());
    return this.byNamespace.get(namespace) ?? [];
  }
}

/** In the order of their names. */
const grouped = (services: Iterable<Service>): ReadonlyMap<string, readonly Service[]> =>
  Map.groupBy(
    [...services].toSorted((a, b) => compareText(a.metadata.name, b.metadata.name)),
    ({ metadata }) => metadata.namespace ?? '',
  );

const noted = <Kind>(objects: ByName<Kind>, asked: Set<string>): ByName<Kind> => ({
  get: (name) => {
    asked.add(name);
    return objects.get(name);
  },
});

const notedData = <Kind extends Secret | ConfigMap>(
  objects: ByName<Kind>,
  asked: Set<string>,
  unread: Set<string>,
): ByName<Kind> => ({
  get: (name) => {
    asked.add(name);
    const found = objects.get(name);
    if (found?.withheld === 'unread') unread.add(name);
    return found;
  },
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

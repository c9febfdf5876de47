import type { AnyRoute, ListenerSet } from '../types/index.ts';
import { GATEWAY_GROUP, keyOfNamed } from './lookup.ts';
import { namespaceOf } from './state.ts';

/** The Gateways that routes name by themselves; an object never changes. */
const direct = new WeakMap<AnyRoute, readonly string[]>();
const none: readonly string[] = [];

/** The Gateways that routes name, or the ListenerSets that they name, by `namespace/name`. */
export class GatewayNames {
  private readonly sets: ReadonlyMap<string, ListenerSet>;

  constructor(sets: readonly ListenerSet[]) {
    this.sets = new Map(sets.map((set) => [keyOfNamed(set), set]));
  }

  of(route: AnyRoute): readonly string[] {
    let names = direct.get(route);
    if (names === undefined) direct.set(route, (names = this.named(route, 'Gateway')));
    if (this.sets.size === 0) return names;
    const through = this.named(route, 'ListenerSet').flatMap((key) => {
      const set = this.sets.get(key);
      if (set === undefined) return none;
      const { parentRef } = set.spec;
      return [`${namespaceOf(parentRef, set.metadata.namespace ?? '')}/${parentRef.name}`];
    });
    return through.length === 0 ? names : [...names, ...through];
  }

  private named({ spec, metadata }: AnyRoute, kind: string): readonly string[] {
    return (spec.parentRefs ?? []).flatMap((reference) =>
      (reference.group ?? GATEWAY_GROUP) === GATEWAY_GROUP && (reference.kind ?? 'Gateway') === kind
        ? [`${namespaceOf(reference, metadata.namespace ?? '')}/${reference.name}`]
        : [],
    );
  }
}

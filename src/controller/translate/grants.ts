import { keyOf } from '../api/object.ts';
import type { ReferenceGrant } from '../types/index.ts';
import type { Guard } from './guard.ts';

/** The referring or the referred object. */
export interface Party {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

/** The references that the ReferenceGrants of all namespaces allow. */
export class Grants {
  /** By both parties: the names that may be referred to, or all of the kind. */
  private readonly allowed = new Map<string, Set<string> | 'all'>();

  constructor(grants: readonly ReferenceGrant[], guard: Guard) {
    for (const grant of grants) {
      guard('ReferenceGrant', grant, () => {
        const { metadata, spec } = grant;
        const namespace = metadata.namespace ?? '';
        for (const from of spec.from) {
          for (const { group, kind, name } of spec.to) this.add(from, { group, kind, namespace }, name);
        }
      });
    }
  }

  /** Within one namespace everything may refer to everything. */
  permit(from: Party, to: Party, name: string): boolean {
    if (from.namespace === to.namespace) return true;
    const names = this.allowed.get(pairOf(from, to));
    return names === 'all' || names?.has(name) === true;
  }

  private add(from: Party, to: Party, name: string | undefined): void {
    const key = pairOf(from, to);
    const names = this.allowed.get(key);
    if (names === 'all') return;
    // The API takes an empty name for none.
    if (name === undefined || name === '') this.allowed.set(key, 'all');
    else if (names === undefined) this.allowed.set(key, new Set([name]));
    else names.add(name);
  }
}

const text = ({ group, kind, namespace }: Party): string => `${group}/${kind}/${namespace}`;
/** A name for references from one kind and namespace to another. */
export const pairOf = (from: Party, to: Party): string => `${text(from)} ${text(to)}`;

/** The references that a grant is about. */
export const pairsOf = ({ metadata: { namespace = '' }, spec }: ReferenceGrant): readonly string[] =>
  spec.from.flatMap((from) => spec.to.map(({ group, kind }) => pairOf(from, { group, kind, namespace })));

/** For messages: `Secret default/cert`. */
export const written = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind} ${keyOf(namespace, name)}`;

import type { AddressLists, Model } from '../../model/index.ts';
import { nameOfText, partsOf, type PartName, type Parts } from './parts.ts';

/** What a Gateway is to serve, ready to be sent: nothing of it changes. */
export interface Edition {
  /** Stands for all of it. */
  readonly version: string;
  readonly parts: Parts;
  /** By key. */
  readonly endpoints: ReadonlyMap<string, EndpointList>;
}

export interface EndpointList {
  readonly name: PartName;
  /** As JSON. */
  readonly text: string;
}

/** Makes the first edition, or one where everything may have changed. */
export function editionOf(model: Model, keys: Iterable<string>, table: AddressLists): Edition {
  return withLists(partsOf(model), listsOf(keys, table, new Map()));
}

/** The same model with other addresses. */
export function withAddresses({ parts, endpoints }: Edition, table: AddressLists): Edition {
  return withLists(parts, listsOf(endpoints.keys(), table, endpoints));
}

/** @param before its lists are taken over where they are the same */
function listsOf(
  keys: Iterable<string>,
  table: AddressLists,
  before: ReadonlyMap<string, EndpointList>,
): ReadonlyMap<string, EndpointList> {
  const lists = new Map<string, EndpointList>();
  for (const key of keys) {
    const text = JSON.stringify(table.get(key) ?? []);
    const known = before.get(key);
    lists.set(key, known?.text === text ? known : { name: nameOfText(text), text });
  }
  return lists;
}

const withLists = (parts: Parts, endpoints: ReadonlyMap<string, EndpointList>): Edition => ({
  version: versionOf(
    parts.root,
    Array.from(endpoints, ([key, { name }]) => [key, name]),
  ),
  parts,
  endpoints,
});

/** The name of a model together with its lists of addresses. */
export const versionOf = (root: PartName, lists: readonly (readonly [string, PartName])[]): string =>
  nameOfText([root, ...lists.map(([key, name]) => `${key} ${name}`).toSorted()].join('\n'));

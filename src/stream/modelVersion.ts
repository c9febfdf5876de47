import type { AddressLists, BackendAddress, Model } from '../model/index.ts';
import { nameOfText, partsOf, type PartName, type Parts } from './parts.ts';

/** The immutable model of a Gateway, ready to be sent. */
export interface ModelVersion {
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
export function modelVersionOf(model: Model, keys: Iterable<string>, table: AddressLists): ModelVersion {
  return withLists(partsOf(model), listsOf(keys, table));
}

/** The same model with other addresses; the same edition where they are none. */
export function withAddresses(
  edition: ModelVersion,
  keys: Iterable<string>,
  table: AddressLists,
): ModelVersion {
  const { parts, endpoints } = edition;
  const lists = listsOf(keys, table);
  const same =
    lists.size === endpoints.size && [...lists].every(([key, { name }]) => endpoints.get(key)?.name === name);
  return same ? edition : withLists(parts, lists);
}

/** By the list itself: the same one comes again and again, and is never changed. */
const known = new WeakMap<readonly BackendAddress[], EndpointList>();
const none: readonly BackendAddress[] = [];

function listsOf(keys: Iterable<string>, table: AddressLists): ReadonlyMap<string, EndpointList> {
  const lists = new Map<string, EndpointList>();
  for (const key of keys) lists.set(key, listOf(table.get(key) ?? none));
  return lists;
}

function listOf(addresses: readonly BackendAddress[]): EndpointList {
  let list = known.get(addresses);
  if (list === undefined) {
    const text = JSON.stringify(addresses);
    known.set(addresses, (list = { name: nameOfText(text), text }));
  }
  return list;
}

const withLists = (parts: Parts, endpoints: ReadonlyMap<string, EndpointList>): ModelVersion => ({
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

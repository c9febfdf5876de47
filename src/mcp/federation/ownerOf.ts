import { listOfKind, type ItemKind } from '../items/items.ts';
import type { OpenName, OwnItem } from '../items/naming.ts';
import type { Federation } from './federation.ts';
import { listOf, type ListTools } from './mergedList.ts';

/**
 * The one target that owns an item, and its own name for it; undefined where there is none. It comes later where the
 * lists of targets have to be read first. The promise rejects where a target fails that may own the item.
 */
export function ownerOf(
  federation: Federation,
  kind: ItemKind,
  shown: string,
  tools: ListTools,
): OwnItem | undefined | Promise<OwnItem | undefined> {
  const found = federation.naming.ownItem(kind, shown);
  if (found === undefined || 'target' in found) return found;
  const known = ownerAmong(federation, kind, shown, found, 'stop');
  return known ?? readAndFind(federation, kind, shown, found, tools);
}

/**
 * The owner as far as the lists are known: the first target whose list has the name.
 * @param unknown `stop`: a target whose list is not known may own the name, so later ones do not. `skip`: only names
 *   that it is known to have had are its own
 */
function ownerAmong(
  federation: Federation,
  kind: ItemKind,
  shown: string,
  { candidates }: OpenName,
  unknown: 'stop' | 'skip',
): OwnItem | undefined {
  const { owners, scope, naming } = federation;
  for (const target of candidates) {
    const names = owners.namesOf(scope, target, kind);
    if (names === undefined && (unknown === 'stop' || federation.mayOwn(kind, target, shown)))
      return undefined;
    for (const name of names ?? [])
      if (naming.prefixedName(kind, target, name) === shown) return { target, name };
  }
  return undefined;
}

async function readAndFind(
  federation: Federation,
  kind: ItemKind,
  shown: string,
  open: OpenName,
  tools: ListTools,
): Promise<OwnItem | undefined> {
  const [method, shape] = listOfKind(kind);
  const members = open.candidates.flatMap((name) => federation.member(name) ?? []);
  const results = await Promise.allSettled(
    members.map((member) => listOf(federation, member, method, shape, tools)),
  );
  const rejected = results.map((result) => (result.status === 'rejected' ? result : undefined));
  if (rejected.some(Boolean)) await federation.recallNames(kind);
  // The target that had the name is the one to tell of.
  const failed =
    rejected.find((one, at) => one !== undefined && federation.mayOwn(kind, members[at]!.name, shown)) ??
    rejected.find(Boolean);
  const found = ownerAmong(federation, kind, shown, open, federation.failOpen ? 'skip' : 'stop');
  if (found !== undefined) return found;
  // It may be an item of the target that failed.
  if (failed !== undefined) throw failed.reason;
  const [only, ...others] = open.candidates;
  // A name that looks like a changed one, and is none.
  return only !== undefined && others.length === 0
    ? federation.naming.itemBehindPrefix(kind, only, shown)
    : undefined;
}

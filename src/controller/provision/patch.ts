import { isRecord } from '../api/object.ts';

type Data = Readonly<Record<string, unknown>>;

/**
 * Merges a patch into an object: RFC 7396, but that of a list whose entries have names, entries of the same name are
 * merged and others added, since nobody wants to repeat a whole container to change one variable of it.
 */
export function patched(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return patchedList(target, patch);
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    // Text of somebody's object: assigned, it would be the prototype.
    if (key === '__proto__') continue;
    if (value === null) delete result[key];
    else result[key] = patched(result[key], value);
  }
  return result;
}

/** The key that tells the entries of a pod's lists apart: several mounts may be of one volume. */
const keyOf = (entry: Data): unknown => entry['mountPath'] ?? entry['name'];
const isKeyed = (list: unknown): list is readonly Data[] =>
  Array.isArray(list) && list.every((entry) => isRecord(entry) && typeof keyOf(entry) === 'string');

function patchedList(target: unknown, patch: readonly unknown[]): readonly unknown[] {
  if (!isKeyed(target) || !isKeyed(patch)) return patch.map((entry) => patched(undefined, entry));
  const result: Data[] = [...target];
  for (const entry of patch) {
    const at = result.findIndex((one) => keyOf(one) === keyOf(entry));
    const merged = patched(result[at], entry) as Data;
    if (at < 0) result.push(merged);
    else result[at] = merged;
  }
  return result;
}

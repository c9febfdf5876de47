/** A description in several documents: its references to other documents become references within one. */

import { DescriptionError, readDocument, type JsonObject, type ValueBudget } from './descriptionText.ts';

/** The documents of a description. Their locations are absolute URLs without a fragment. */
export interface LinkedDocuments {
  /** The location of the description itself. */
  readonly base: string;
  /** The texts of all other documents that are read so far, by location. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Documents that have to be read first. */
export interface MissingDocuments {
  readonly missing: readonly string[];
}

/** Most documents besides the description itself. */
export const maxDocuments = 64;

/** The other documents stand in this member of the description. */
const member = 'x-portcullis-documents';

/** The path of a value without the document that it stands in. */
export const withinDocument = (path: readonly string[]): readonly string[] =>
  path[0] === member ? path.slice(2) : path;

/**
 * Puts all documents into the first one.
 * @throws DescriptionError
 */
export function joinDocuments(
  text: string,
  { base, texts }: LinkedDocuments,
  budget: ValueBudget,
): { readonly document: JsonObject } | MissingDocuments {
  const places = new Map([[base, '#']]);
  for (const [index, location] of [...texts.keys()].entries()) places.set(location, `#/${member}/${index}`);
  const missing = new Set<string>();
  const linked = (given: string, location: string): JsonObject => {
    const document = readDocument(given, budget);
    rewriteReferences(document, location, places, missing);
    return document;
  };
  const first = linked(text, base);
  const others = [...texts].map(([location, one]) => linked(one, location));
  if (missing.size > 0) return { missing: [...missing] };
  return { document: { ...first, [member]: others } };
}

/** Changes every reference of a document, which belongs to this reading alone. */
function rewriteReferences(
  document: JsonObject,
  location: string,
  places: ReadonlyMap<string, string>,
  missing: Set<string>,
): void {
  const open: unknown[] = [document];
  // An alias of YAML stands in several places.
  const seen = new Set<unknown>();
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const [key, part] of Object.entries(value)) {
      if (key !== '$ref' || typeof part !== 'string') {
        open.push(part ?? null);
        continue;
      }
      const [target, fragment] = split(part, location);
      const place = places.get(target);
      if (place === undefined) missing.add(target);
      else (value as Record<string, unknown>)['$ref'] = place + fragment;
    }
  }
}

/** @throws DescriptionError */
function split(reference: string, location: string): readonly [location: string, fragment: string] {
  const at = reference.indexOf('#');
  const fragment = at < 0 ? '' : reference.slice(at + 1);
  const path = at < 0 ? reference : reference.slice(0, at);
  if (fragment !== '' && !fragment.startsWith('/'))
    throw new DescriptionError(
      `the reference ${shown(reference)} names an anchor: expected a path such as #/a/b`,
    );
  const target = path === '' ? location : URL.parse(path, location)?.href;
  if (target === undefined) throw new DescriptionError(`the reference ${shown(reference)} is no URL`);
  return [target, fragment];
}

const shown = (reference: string): string => JSON.stringify(reference).slice(0, 200);

import { DescriptionError, isObject, type JsonObject } from './descriptionText.ts';

/** References that lead to references. */
const maxHops = 32;

/** Finds the parts of a description that `$ref` names. */
export class References {
  private readonly document: JsonObject;

  constructor(document: JsonObject) {
    this.document = document;
  }

  /**
   * The object itself, or the one that its `$ref` names.
   * @param what names the object in errors
   * @throws DescriptionError
   */
  follow(node: unknown, what: string): JsonObject {
    let found = node;
    for (let hops = 0; hops < maxHops; hops++) {
      if (!isObject(found)) throw new DescriptionError(`${what} is no object`);
      const ref = found['$ref'];
      if (ref === undefined) return found;
      found = this.at(ref);
    }
    throw new DescriptionError(`${what} refers to itself`);
  }

  /**
   * The value that a reference names.
   * @throws DescriptionError
   */
  at(ref: unknown): unknown {
    let value: unknown = this.document;
    for (const part of pathOf(ref)) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part))
        throw new DescriptionError(`the reference ${shown(ref)} leads to nothing`);
      value = (value as JsonObject)[part];
    }
    return value;
  }
}

const shown = (ref: unknown): string => JSON.stringify(ref).slice(0, 200);

/**
 * The parts of a reference within the description (RFC 6901 §6).
 * @throws DescriptionError
 */
export function pathOf(ref: unknown): readonly string[] {
  if (typeof ref !== 'string') throw new DescriptionError('a $ref is no text');
  if (!ref.startsWith('#'))
    throw new DescriptionError(
      `the reference ${shown(ref)} leads outside of the description, and the setting references allows no other documents: put all parts into one`,
    );
  if (ref === '#') return [];
  if (!ref.startsWith('#/'))
    throw new DescriptionError(`the reference ${shown(ref)} names an anchor: expected a path such as #/a/b`);
  try {
    return decodeURIComponent(ref.slice(2))
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    throw new DescriptionError(`the reference ${shown(ref)} is not percent-encoded`);
  }
}

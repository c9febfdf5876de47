import { keyOf } from '../api/object.ts';
import type { Named } from '../types/index.ts';

/** Does the work on one object; where that fails the object is noted, and the others go on. */
export type Guard = (kind: string, object: Named, work: () => void) => void;

/** An object that broke the translation. */
export interface Defect {
  readonly object: string;
  readonly error: unknown;
}

export const guardInto =
  (defects: Defect[]): Guard =>
  (kind, object, work) => {
    try {
      work();
    } catch (error) {
      const { namespace, name } = object.metadata;
      defects.push({ object: `${kind} ${keyOf(namespace, name)}`, error });
    }
  };

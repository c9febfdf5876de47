import type { Named } from '../types/index.ts';
import { keyOfNamed } from './lookup.ts';

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
      defects.push({ object: `${kind} ${keyOfNamed(object)}`, error });
    }
  };

/**
 * First pages of merged lists, kept for the next request. A page depends on nothing but its basis, so a page with the
 * same basis is the same page: whatever changes, changes the basis.
 */

import type { ItemView } from '../items/itemView.ts';
import type { Naming } from '../items/naming.ts';
import type { RulesBasis } from '../contract.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import type { ListedItem } from './targetLists.ts';

/** The list of one target, as it was read once: a list that is read again is another object. */
interface ListPart {
  readonly target: string;
  readonly items: readonly ListedItem[];
}

export interface PageBasis {
  /** In configured order. */
  readonly parts: readonly ListPart[];
  readonly naming: Naming;
  /** Counts what is known of the owners of names without a prefix. */
  readonly owners: number;
  /** The view by which the caller is judged. */
  readonly view: ItemView | undefined;
  readonly rules: RulesBasis;
}

interface KeptPage {
  readonly basis: PageBasis;
  readonly result: string;
}

/** The pages of one session, one for each list: the last caller's. */
export class KeptPages {
  private readonly keep: RetainedMemory;
  private readonly pages = new Map<string, KeptPage>();

  constructor(keep: RetainedMemory) {
    this.keep = keep;
  }

  /** @returns JSON text of a result; undefined where the page has to be made anew */
  get(method: string, basis: PageBasis): string | undefined {
    const page = this.pages.get(method);
    return page !== undefined && isSame(page.basis, basis) ? page.result : undefined;
  }

  put(method: string, basis: PageBasis, result: string): void {
    this.drop(method);
    this.keep.add(result.length);
    if (this.keep.isOverLimit) this.keep.remove(result.length);
    else this.pages.set(method, { basis, result });
  }

  /** Lets go of pages that cannot be used any more, with the lists of which they are made. */
  forget(): void {
    for (const method of [...this.pages.keys()]) this.drop(method);
  }

  private drop(method: string): void {
    const page = this.pages.get(method);
    if (page === undefined) return;
    this.keep.remove(page.result.length);
    this.pages.delete(method);
  }
}

const isSame = (one: PageBasis, other: PageBasis): boolean =>
  one.naming === other.naming &&
  one.owners === other.owners &&
  one.view === other.view &&
  one.rules.rules === other.rules.rules &&
  one.rules.identity === other.rules.identity &&
  one.parts.length === other.parts.length &&
  one.parts.every(({ target, items }, at) => {
    const part = other.parts[at];
    return part?.target === target && part.items === items;
  });

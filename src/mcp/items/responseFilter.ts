import { GatewayError } from '../../errors.ts';
import type { Envelope } from '../json/envelope.ts';
import type { Edit } from '../json/scan.ts';

/** The part of a response that a caller may see. */
export interface FilteredResponse {
  /** Changes in the text of the response; none where the caller may see all of it. */
  readonly edits: readonly Edit[];
  /** Set if this page of a list is empty: the cursor of the next page, as the server wrote it. */
  readonly next?: string;
}

/** The view of a caller on single members of a result. */
export interface MemberFilter {
  /** The members that the view is about; the others are as the server wrote them. */
  readonly watched: ReadonlySet<string>;
  /** @returns the text in the place of the value; undefined if the response cannot be used */
  filterMember(name: string, value: string): string | undefined;
}

export const unfiltered: FilteredResponse = { edits: [] };

/** The view of a caller on the responses to a request. */
export interface ResponseFilter {
  /** @returns the error that takes the place of a response of which the caller may see nothing */
  filter(response: Envelope): FilteredResponse | GatewayError;
  /** The same for a response that comes in parts; undefined where the response must be whole. */
  readonly ofMembers?: MemberFilter | undefined;
}

/** Applies one view after the other; they must not change the same place. */
export class ResponseFilters implements ResponseFilter {
  private readonly all: readonly ResponseFilter[];

  constructor(all: readonly ResponseFilter[]) {
    this.all = all;
  }

  filter(response: Envelope): FilteredResponse | GatewayError {
    const edits: Edit[] = [];
    let next: string | undefined;
    for (const view of this.all) {
      const shown = view.filter(response);
      if (shown instanceof GatewayError) return shown;
      edits.push(...shown.edits);
      next ??= shown.next;
    }
    return next === undefined ? { edits } : { edits, next };
  }
}

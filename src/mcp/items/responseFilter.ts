import { GatewayError } from '../../errors.ts';
import type { Envelope } from '../json/envelope.ts';
import { ownResult } from '../json/ownMessage.ts';
import type { MemberView } from '../json/responseScan.ts';
import { splice, type Edit } from '../json/scan.ts';

/** The part of a response that a caller may see. */
export interface FilteredResponse {
  /** Changes in the text of the response; none where the caller may see all of it. */
  readonly edits: readonly Edit[];
  /** Set if this page of a list is empty: the cursor of the next page, as the server wrote it. */
  readonly next?: string;
}

export const unfiltered: FilteredResponse = { edits: [] };

/** The view of a caller on the responses to a request. */
export interface ResponseFilter {
  /** @returns the error that takes the place of a response of which the caller may see nothing */
  filter(response: Envelope): FilteredResponse | GatewayError;
  /** The same for a response that comes in parts; undefined where the response must be whole. */
  readonly ofMembers?: MemberView | undefined;
}

/** The member of a result alone, as a view shows it; undefined if the view shows an error in its place. */
export function filteredMember(view: ResponseFilter, name: string, value: string): string | undefined {
  const before = `{${JSON.stringify(name)}:`;
  const alone = ownResult(`${before}${value}}`);
  const shown = view.filter(alone);
  if (shown instanceof GatewayError) return undefined;
  return splice(alone.text, shown.edits).slice(alone.body!.start + before.length, -2);
}

/** Applies views of members in turn; only one of the views is about elements. */
export const inTurn = (views: readonly MemberView[]): MemberView => ({
  watched: new Set(views.flatMap(({ watched }) => [...watched])),
  elements: views.find(({ elements }) => elements !== undefined)?.elements,
  filterMember: (name, value) => {
    let text: string | undefined = value;
    for (const view of views)
      if (text !== undefined && view.watched.has(name)) text = view.filterMember(name, text);
    return text;
  },
});

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

  get ofMembers(): MemberView | undefined {
    const views = this.all.flatMap(({ ofMembers }) => ofMembers ?? []);
    return views.length === this.all.length ? inTurn(views) : undefined;
  }
}

/** The view of a caller under rules on responses about an item. */

import { GatewayError } from '../../errors.ts';
import type { ItemCall, ItemRefusal } from '../contract.ts';
import { maxItems, unknownItem, type Completed, type NamedItem } from './items.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { Elements, type Edit } from '../json/scan.ts';
import { refusalError } from './itemRefusal.ts';
import type { ItemRules } from './itemRules.ts';
import { filterList } from './listFilter.ts';
import type { Naming } from './naming.ts';
import { targetError } from '../messages/rpcError.ts';
import { unfiltered, type FilteredResponse, type ResponseFilter } from './responseFilter.ts';

/** Names come from clients: in logs and messages they are cut. */
export const maxShown = 200;

/** The answer for an item that is hidden: the same as for one that does not exist. */
export function unknownItemError({ kind, name }: Pick<NamedItem, 'kind' | 'name'>): GatewayError {
  const { code, label } = unknownItem[kind];
  return new GatewayError(code, { message: `${label}: ${name.slice(0, maxShown)}` });
}

/** No rule can judge contents without a URI. */
const unnamedContent: ItemRefusal = { rule: 'contents without a URI' };

/** A task does not keep the variables of the template that it completes. */
const completionOfTask: ItemRefusal = { rule: 'completion of a task' };

export interface ContentsStart {
  readonly item: Pick<NamedItem, 'kind' | 'name'>;
  readonly target: string;
  readonly itemRules: ItemRules;
  readonly naming: Naming;
  /** The call that reads the contents. */
  readonly call: ItemCall;
  /** The member of the result that holds the contents; absent where the result itself holds them. */
  readonly within?: string | undefined;
  /** Is called where the rules hide all that was read. */
  readonly refused: (why: ItemRefusal) => void;
}

/** The contents that a server read: it says under which URI, and one read may bring several resources. */
export class ContentsFilter implements ResponseFilter {
  private readonly start: ContentsStart;

  constructor(start: ContentsStart) {
    this.start = start;
  }

  filter(response: Envelope): FilteredResponse | GatewayError {
    const { text } = response;
    const { item, target, itemRules, naming, call, within, refused } = this.start;
    const body = within === undefined ? response.body : memberOf(text, response.body, within);
    // The client may read another one of them than the rules judge.
    if (body === 'ambiguous')
      return targetError('mcp_target_failed', target, `answered with the member "${within}" twice`);
    if (call.task !== undefined && memberOf(text, body, 'completion') !== undefined) {
      refused(completionOfTask);
      return unknownItemError(item);
    }
    let left = 0;
    let hidden: ItemRefusal | undefined;
    // A result without contents says nothing of any resource.
    if (memberOf(text, body, 'contents') === undefined) return unfiltered;
    const shown = filterList({ text, body }, 'contents', target, false, (content) => {
      const place = memberOf(text, content, 'uri');
      const name = place === 'ambiguous' ? undefined : stringValue(text, place);
      const refusal =
        name === undefined ? unnamedContent : itemRules.refusalOf({ kind: 'resource', target, name }, call);
      if (refusal !== undefined) hidden ??= refusal;
      if (name === undefined || refusal !== undefined) return undefined;
      left++;
      const uri = naming.shownUri(target, name);
      return uri === name || typeof place !== 'object'
        ? 'as written'
        : { ...place, replacement: JSON.stringify(uri) };
    });
    if (left > 0 || hidden === undefined) return shown;
    refused(hidden);
    return refusalError(unknownItemError(item), hidden);
  }
}

/** Values for a variable of a template: those that would name a hidden resource are left out. */
export class CompletionFilter implements ResponseFilter {
  private readonly template: string;
  private readonly completed: Completed;
  private readonly target: string;
  private readonly itemRules: ItemRules;

  constructor(template: string, completed: Completed, target: string, itemRules: ItemRules) {
    this.template = template;
    this.completed = completed;
    this.target = target;
    this.itemRules = itemRules;
  }

  filter({ text, body }: Envelope): FilteredResponse | GatewayError {
    const { variable, values: known } = this.completed;
    const completion = memberOf(text, body, 'completion');
    if (completion === undefined) return unfiltered;
    const list = completion === 'ambiguous' ? completion : memberOf(text, completion, 'values');
    if (
      completion === 'ambiguous' ||
      list === undefined ||
      list === 'ambiguous' ||
      text.charCodeAt(list.start) !== 0x5b
    )
      return targetError('mcp_target_failed', this.target, 'answered with something that is no completion');
    const kept: string[] = [];
    let all = 0;
    const elements = new Elements(text, list.start);
    while (elements.next()) {
      if (++all > maxItems)
        return targetError('mcp_target_failed', this.target, 'answered with a list that is too long');
      const value = stringValue(text, elements);
      if (value === undefined) continue;
      const values = variable === undefined ? known : new Map(known).set(variable, value);
      if (this.itemRules.refusalOfExpansion(this.target, this.template, values) === undefined)
        kept.push(text.slice(elements.start, elements.end));
    }
    if (kept.length === all && !elements.broken) return unfiltered;
    const edits: Edit[] = [{ ...list, replacement: `[${kept.join(',')}]` }];
    // The total would tell of what is hidden.
    const total = memberOf(text, completion, 'total');
    if (typeof total === 'object') edits.push({ ...total, replacement: String(kept.length) });
    return { edits };
  }
}

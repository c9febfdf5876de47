/** The one place that asks the rules and the view about an item: every name is judged in all of its readings. */

import type { Caller, ItemCall, ItemRefusal, McpItem, RulesBasis } from '../contract.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { ItemView } from './itemView.ts';
import { expandTemplate, readingsOf } from './nameReadings.ts';
import { compareWithTools, hasNewRules, type ListedTool } from './ruleNames.ts';

/** An item, or a template of resources, as a message names it. */
export interface ItemName {
  readonly kind: McpItem['kind'];
  /** The target's name today. */
  readonly target: string;
  readonly name: string;
  /** The name is a template of URIs. */
  readonly template?: boolean;
}

/** Stands for the rules, and for whoever is judged by them, where a route has none. */
export const noRules: RulesBasis = { rules: {}, identity: {} };

/** A view hides the item from every caller. */
const hiddenByView: ItemRefusal = { rule: 'view' };
/** The name has more readings than the rules can judge. */
const ambiguousName: ItemRefusal = { rule: 'ambiguous name' };

/** Says what one caller may know of. */
export class ItemRules {
  /** Hides items from every caller. */
  readonly view: ItemView | undefined;
  private readonly caller: Caller;

  private constructor(caller: Caller, view: ItemView | undefined) {
    this.caller = caller;
    this.view = view;
  }

  /**
   * @param view of the backend, which hides items from every caller
   * @returns undefined where the route has no rule about items, and the backend no view
   */
  static of(caller: Caller, view: ItemView | undefined): ItemRules | undefined {
    return view === undefined && caller.refusalOf === undefined ? undefined : new ItemRules(caller, view);
  }

  /** All that the rules have looked at; undefined where they may decide otherwise on the next request. */
  get basis(): RulesBasis | undefined {
    return this.caller.refusalOf === undefined ? noRules : this.caller.rulesBasis?.();
  }

  /** Compares the rules with the tools of all targets, if no complete list was there before. */
  compareWithTools(tools: () => readonly ListedTool[], log: Pick<Logger, 'warn'>): void {
    const { toolNames } = this.caller;
    if (hasNewRules(toolNames)) compareWithTools(toolNames, tools(), log);
  }

  /** Do the rules let the caller see the item, whatever reading of its name the server takes? */
  allows(item: ItemName): boolean {
    return this.refusalOf(item) === undefined;
  }

  /**
   * The reason why the rules refuse the item in one of the readings of its name; undefined where they allow it.
   * @param call of the item; without one, the rules say whether the caller may see the item
   */
  refusalOf({ kind, target, name, template = false }: ItemName, call?: ItemCall): ItemRefusal | undefined {
    const readings = readingsOf(kind, name, template);
    if (readings === undefined) return ambiguousName;
    for (const reading of readings) {
      const item: McpItem = { kind, target, name: reading };
      if (this.view?.shows(item) === false) return hiddenByView;
      const refusal = this.caller.refusalOf?.(item, call);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  /** The same for a template with some of its variables known: the rules may hide its expansion, but not the template. */
  refusalOfExpansion(
    target: string,
    template: string,
    values: ReadonlyMap<string, string>,
    call?: ItemCall,
  ): ItemRefusal | undefined {
    const name = expandTemplate(template, values);
    if (name === undefined) return ambiguousName;
    return this.refusalOf({ kind: 'resource', target, name, template: true }, call);
  }
}

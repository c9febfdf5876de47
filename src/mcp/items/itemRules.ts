/** The one place that asks the rules and the view about an item: every name is judged in all of its readings. */

import type { Caller, McpItem, RulesBasis } from '../contract.ts';
import type { ItemView } from './itemView.ts';
import { expandTemplate, readingsOf } from './nameReadings.ts';

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
    return view === undefined && caller.mayUse === undefined ? undefined : new ItemRules(caller, view);
  }

  /** All that the rules have looked at; undefined where they may decide otherwise on the next request. */
  get basis(): RulesBasis | undefined {
    return this.caller.mayUse === undefined ? noRules : this.caller.rulesBasis?.();
  }

  private mayUse(item: McpItem): boolean {
    return this.view?.shows(item) !== false && this.caller.mayUse?.(item) !== false;
  }

  /** Do the rules allow the item, whatever reading of its name the server takes? */
  allows({ kind, target, name, template = false }: ItemName): boolean {
    const readings = readingsOf(kind, name, template);
    return readings?.every((reading) => this.mayUse({ kind, target, name: reading })) === true;
  }

  /** The same for a template with some of its variables known: what it stands for may be hidden, though it is not. */
  allowsExpansion(target: string, template: string, values: ReadonlyMap<string, string>): boolean {
    const name = expandTemplate(template, values);
    return name !== undefined && this.allows({ kind: 'resource', target, name, template: true });
  }
}

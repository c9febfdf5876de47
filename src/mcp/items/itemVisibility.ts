import type { ItemName, ItemRules } from './itemRules.ts';

/**
 * The item that a message of a server names. It is asked for when the message is about to be sent: by then the target
 * may have another name, and the message may have waited for another caller's stream. Undefined where the item cannot
 * be told: no rule allows that.
 */
export type ItemNameSource = () => ItemName | undefined;

/** May the caller that reads a stream hear of the item? */
export function canSeeItem(itemRules: ItemRules | undefined, names: ItemNameSource | undefined): boolean {
  if (itemRules === undefined || names === undefined) return true;
  const item = names();
  return item !== undefined && itemRules.allows(item);
}

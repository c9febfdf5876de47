import type { ItemName } from '../items/itemRules.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';

/** An event as it is kept outside of this process: the item that it names in a line of JSON, then its text. */
export function storedText(text: string, names: ItemNameSource | undefined): string {
  // `null`: the item cannot be told, so no rule allows that a caller sees the event.
  const item = names === undefined ? '' : JSON.stringify(names() ?? null);
  return `${item}\n${text}`;
}

/** Reads what `storedText` wrote. */
export function readStoredText(stored: string): {
  readonly text: string;
  readonly names: ItemNameSource | undefined;
} {
  const end = stored.indexOf('\n');
  const text = stored.slice(end + 1);
  if (end <= 0) return { text, names: undefined };
  const item = JSON.parse(stored.slice(0, end)) as ItemName | null;
  return { text, names: () => item ?? undefined };
}

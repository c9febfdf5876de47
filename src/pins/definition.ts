/** The parts of an item that an agent reads before it uses the item. */

export type PinKind = 'tool' | 'prompt' | 'template' | 'instructions';

/** Members of an item that count (MCP 2025-11-25, schema: Tool, Prompt, ResourceTemplate). */
const members: Readonly<Record<PinKind, readonly string[]>> = {
  tool: ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'],
  prompt: ['title', 'description', 'arguments'],
  template: ['name', 'title', 'description', 'mimeType'],
  instructions: ['text'],
};

/** The members of an item that are compared. */
export const comparedMembers = (kind: PinKind): readonly string[] => members[kind];

/**
 * The definition of an item as JSON text. Two items are the same if their texts are: members stand in alphabetical
 * order, and white space does not count.
 * @param text the item as its server wrote it, an object in JSON
 */
export function definitionOf(kind: PinKind, text: string): string {
  const item = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return JSON.stringify(
    Object.fromEntries(
      members[kind].filter((name) => Object.hasOwn(item, name)).map((name) => [name, sorted(item[name])]),
    ),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

import { z } from 'zod';
import { shadows } from '../../model/index.ts';
import { choice, fields } from '../../schema/index.ts';

/** Characters of names of tools and prompts (MCP 2025-11-25, "Tool Names"). */
const newName = z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, {
  error: 'expected a name of at most 128 letters, digits, dots, dashes and underscores',
});

const common = {
  target: z.string().optional().describe('The target of the item; any target if absent.'),
  hide: z.boolean().optional().describe('Hide the items that the entry names.'),
  title: z.string().optional().describe('Replaces the title of the item.'),
  description: z.string().optional().describe('Replaces the description of the item.'),
};

interface Entry {
  readonly hide?: boolean | undefined;
  readonly as?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

interface NamedEntry extends Entry {
  readonly target?: string | undefined;
  readonly name: string;
}

/** Rules between the fields of an entry. */
function checkEntry(entry: Entry, name: string, context: z.RefinementCtx): void {
  const problem = (path: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [path], message });
  if (entry.as !== undefined && name.includes('*')) problem('as', 'one name cannot stand for several items');
  if (entry.hide !== true) return;
  for (const field of ['as', 'title', 'description'] as const)
    if (entry[field] !== undefined) problem(field, 'a hidden item is not shown');
}

const named = fields({
  name: z.string().min(1).describe("The target's own name of the item; * stands for any characters."),
  as: newName.optional().describe('The name of the item for clients, without a prefix.'),
  ...common,
}).superRefine((entry, context) => checkEntry(entry, entry.name, context));

const resource = fields({
  uri: z.string().min(1).describe("The target's own URI or template of URIs; * stands for any characters."),
  as: z
    .string()
    .min(1)
    .optional()
    .describe('Replaces the name that clients show for the resource. The URI stays.'),
  ...common,
}).superRefine((entry, context) => checkEntry(entry, entry.uri, context));

/** Every entry decides about an item: none stands behind one that matches all of its items. */
function checkOrder(entries: readonly Pick<NamedEntry, 'target' | 'name'>[], context: z.RefinementCtx): void {
  for (const [index, entry] of entries.entries()) {
    const before = entries.slice(0, index).findIndex((first) => shadows(first, entry));
    if (before < 0) continue;
    const message = `[${before}] matches all items of the entry first, so the entry has no effect`;
    context.addIssue({ code: 'custom', path: [index], message });
  }
}

/** Every entry has an effect, and no two items have the same new name. */
const checkNamed = <Schema extends z.ZodType<readonly NamedEntry[]>>(schema: Schema): Schema =>
  schema.superRefine((entries, context) => {
    checkOrder(entries, context);
    const seen = new Set<string>();
    for (const [index, { as }] of entries.entries()) {
      if (as === undefined) continue;
      if (seen.has(as))
        context.addIssue({
          code: 'custom',
          path: [index, 'as'],
          message: `${as} names another item already`,
        });
      seen.add(as);
    }
  });

export const mcpView = fields({
  rest: choice(['hide', 'show'])
    .optional()
    .describe('What happens to items that no entry names: hide by default.'),
  tools: checkNamed(z.array(named)).optional().describe('The tools that clients see; all of them if absent.'),
  prompts: checkNamed(z.array(named)).optional().describe('The prompts that clients see; all if absent.'),
  resources: z
    .array(resource)
    .superRefine((entries, context) =>
      checkOrder(
        entries.map(({ target, uri }) => ({ target, name: uri })),
        context,
      ),
    )
    .optional()
    .describe('The resources and templates of resources that clients see; all if absent.'),
});

export type McpViewSettings = z.output<typeof mcpView>;

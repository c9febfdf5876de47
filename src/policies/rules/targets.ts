import { comparedTexts } from '../../cel/index.ts';
import type { Members } from '../../cel/index.ts';
import { itemAttributes } from '../attributes/declared.ts';

/** The variables that hold the name of a target: `mcp.tool.target` and those of the other items. */
const variables: ReadonlySet<string> = new Set(
  Object.entries(membersOf(itemAttributes['mcp'])).flatMap(([kind, item]) =>
    Object.hasOwn(membersOf(item), 'target') ? [`mcp.${kind}.target`] : [],
  ),
);

function membersOf(declared: Members[string] | undefined): Members {
  return declared?.kind === 'object' ? declared.members : {};
}

/** Names of MCP targets that a rule tells apart. */
export const targetsNamedBy = (expression: string): readonly string[] => comparedTexts(expression, variables);

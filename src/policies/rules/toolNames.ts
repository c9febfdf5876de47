/** Rules that no item can match, as far as the lists of the servers and the rules themselves tell. */

import {
  comparedTexts,
  membersRead,
  membersToBeTrue,
  newMeter,
  unknownValue,
  type CelContext,
  type Members,
  type Program,
} from '../../cel/index.ts';
import type { McpItem, ToolNames } from '../../mcp/contract.ts';
import type { DecidedBy } from '../../errors.ts';
import { itemMap } from '../attributes/context.ts';
import { argumentsOfTool, unknownCall, usesWhole } from './callTime.ts';
import { valueOfFailed } from './otherKinds.ts';

const kinds = ['tool', 'prompt', 'resource'] as const;

const nameOfTool: ReadonlySet<string> = new Set(['mcp.tool.name']);

/** The names of tools that an expression compares with. */
export const toolsIn = (expression: string): readonly string[] => comparedTexts(expression, nameOfTool);

/** A request of which nothing is known but the item. */
export const unknownRequest = (attributes: Members): CelContext =>
  Object.fromEntries(
    Object.keys(attributes)
      .filter((name) => name !== 'mcp')
      .map((name) => [name, unknownValue]),
  );

/** The kinds of items that a rule can be true for. */
const kindsOf = (expression: string): ReadonlySet<string> => membersToBeTrue(expression, 'mcp', kinds);

/** Does the rule demand two kinds of item at once? */
export const demandsTwoKinds = (expression: string): boolean => kindsOf(expression).size === 0;

/** The part of a rule that the tools of the servers are compared with. */
interface RuleOfTools {
  readonly program: Program;
  readonly at: DecidedBy;
  /** Does a failure count as true? */
  readonly closes: boolean;
}

/** The tools and arguments that a rule is about; none for a rule that says nothing of tools. */
export function toolNamesOf({ program, at, closes }: RuleOfTools, attributes: Members): ToolNames | [] {
  const of = kindsOf(program.source);
  if (!program.uses('mcp') || !of.has('tool')) return [];
  const tools = toolsIn(program.source);
  const read = program.uses(argumentsOfTool) ? membersRead(program.source, argumentsOfTool) : [];
  const request = unknownRequest(attributes);
  const mayMatch = (name: string, target: string): boolean => {
    if (usesWhole(program)) return true;
    const item: McpItem = { kind: 'tool', target, name };
    const run = (context: CelContext): unknown => program.run(context, newMeter());
    const value = run({ ...request, mcp: itemMap(item, unknownCall) });
    if (!(value instanceof Error)) return value !== false;
    return closes && valueOfFailed(run, request, item, unknownCall) !== false;
  };
  return { by: at, tools, arguments: read, onlyTools: of.size === 1, mayMatch };
}

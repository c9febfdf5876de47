/** Rules that read a variable of a call: lists cannot know its value. */

import { draw, namesIn, unknownValue, type CelContext, type Program } from '../../cel/index.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import type { CallValues } from '../attributes/context.ts';
import type { Exchange } from '../policy.ts';

type Value = CelContext[string];

/** Members of `mcp` that belong to a call and not to its item. */
const ofCalls = ['methodName', 'sessionId', 'task'] as const;
export const argumentsOfTool = 'mcp.tool.arguments';

/** Does the rule use `mcp` or `mcp.tool` as a whole, with all members? */
export const usesWhole = ({ wholes }: Program): boolean =>
  wholes.includes('mcp') || wholes.includes('mcp.tool') || wholes.includes('mcp.task');

const usesArguments = (program: Program): boolean => program.uses(argumentsOfTool) || usesWhole(program);

/** Does the decision of the rule need a call? Otherwise the item decides, in lists and calls alike. */
export const isCallTime = (program: Program): boolean =>
  usesArguments(program) || ofCalls.some((name) => program.uses(`mcp.${name}`));

/** All that lists know of a call. */
export const unknownCall: CallValues = {
  arguments: unknownValue,
  members: new Map(ofCalls.map((name) => [name, unknownValue])),
  isOpen: true,
};

/** Reads the variables of a call for some rules. */
export type CallReader = (
  exchange: Exchange,
  item: McpItem,
  call: ItemCall,
) => CallValues | { readonly fault: string };

export function callReader(programs: readonly Program[]): CallReader {
  const reading = programs.filter(usesArguments);
  const names = new Set(reading.flatMap(({ source }) => namesIn(source, argumentsOfTool)));
  return (exchange, { kind }, call) => {
    const members = new Map<string, Value>([['methodName', call.method]]);
    if (call.sessionId !== undefined) members.set('sessionId', call.sessionId);
    if (call.task !== undefined) members.set('task', new Map(Object.entries(call.task)));
    const isOpen = kind === 'tool' && call.readArguments === undefined;
    if (reading.length === 0 || call.readArguments === undefined)
      return { arguments: unknownValue, members, isOpen };
    const spend = (units: number): boolean => {
      draw(exchange, units);
      return exchange.workLeft >= 0;
    };
    const found = call.readArguments({ names, spend });
    return 'fault' in found ? found : { arguments: found.value as Value, members, isOpen };
  };
}

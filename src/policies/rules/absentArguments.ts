import { compile, isProblem, membersRead, newMeter, unknownValue } from '../../cel/index.ts';
import { itemMap } from '../attributes/context.ts';
import { itemAttributes } from '../attributes/declared.ts';
import { argumentsOfTool, unknownCall } from './callTime.ts';
import { toolsIn, unknownRequest } from './toolNames.ts';

/**
 * The arguments without which an expression fails for a call of a tool, whatever the rest of the request is. A `deny` rule
 * that fails denies, so it refuses each call that leaves such an argument out.
 */
export function argumentsNeeded(expression: string): readonly string[] {
  const read = membersRead(expression, argumentsOfTool);
  const program = read.length === 0 ? undefined : compile(expression, itemAttributes);
  if (program === undefined || isProblem(program)) return [];
  const request = unknownRequest(itemAttributes);
  const names = [...toolsIn(expression), ''];
  const fails = (name: string, absent: string): boolean => {
    const given = read.filter((one) => one !== absent).map((one) => [one, unknownValue] as const);
    const mcp = itemMap({ kind: 'tool', target: '', name }, { ...unknownCall, arguments: new Map(given) });
    return program.run({ ...request, mcp }, newMeter()) instanceof Error;
  };
  return read.filter((absent) => names.some((name) => fails(name, absent)));
}

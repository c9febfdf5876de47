/** Rules that no tool can match: by its name, its target, or an argument that the tool does not take. */

import type { Logger } from '../../telemetry/index.ts';
import type { ToolNames } from '../contract.ts';

/** A tool as its server lists it. */
export interface ListedTool {
  /** The server's own name for it. */
  readonly name: string | undefined;
  readonly target: string;
  /** The JSON text of its definition. */
  readonly text: string;
}

/** Each rule is compared with the first complete list only: a session does not repeat the warnings of another one. */
const compared = new WeakSet<ToolNames>();

/** Are there rules that no list was compared with? */
export const hasNewRules = (rules: readonly ToolNames[] | undefined): rules is readonly ToolNames[] =>
  rules?.some((rule) => !compared.has(rule)) === true;

/**
 * Warns of names and arguments in rules that no tool has, and of rules that no tool can match.
 * @param tools all tools of all targets
 */
export function compareWithTools(
  rules: readonly ToolNames[],
  tools: readonly ListedTool[],
  log: Pick<Logger, 'warn'>,
): void {
  const names = new Set(tools.map(({ name }) => name));
  // Rules and lists are long together, so each definition is read once.
  const parameters = new Map<ListedTool, Parameters>();
  const parametersOf = (tool: ListedTool): Parameters => {
    const known = parameters.get(tool) ?? readParameters(tool);
    parameters.set(tool, known);
    return known;
  };
  for (const rule of rules) {
    if (compared.has(rule)) continue;
    compared.add(rule);
    const missing = rule.tools.filter((tool) => !names.has(tool));
    for (const tool of missing) log.warn('Rule names a tool that no server has', { tool, ...rule.by });
    const matched = tools.filter(({ name, target }) => name !== undefined && rule.mayMatch(name, target));
    if (matched.length === 0) {
      // A missing name is the reason, and the log has it.
      if (rule.onlyTools && missing.length === 0) log.warn('Rule matches no tool of the servers', rule.by);
      continue;
    }
    if (rule.arguments.length === 0) continue;
    const known = matched.map(parametersOf);
    for (const argument of rule.arguments)
      if (known.every((names) => names !== 'any' && !names.has(argument)))
        log.warn('Rule reads an argument that no tool has', { argument, ...rule.by });
  }
}

/** The names of a tool's parameters; `any` where the tool takes more than its schema names. */
type Parameters = ReadonlySet<string> | 'any';

function readParameters({ text }: ListedTool): Parameters {
  const schema = schemaOf(text);
  // A schema may name parameters in many ways (`allOf`, `$ref`); only the plain one is sure to name all.
  if (schema === undefined || Object.keys(schema).some((key) => !plain.has(key))) return 'any';
  return new Set(Object.keys(schema['properties'] ?? {}));
}

/** The keywords of a schema that name no parameters beside `properties`. */
const plain: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
  'type',
  'properties',
  'required',
  'title',
  'description',
  'examples',
  'default',
  'additionalProperties',
]);

function schemaOf(text: string): Readonly<Record<string, object>> | undefined {
  try {
    const { inputSchema } = JSON.parse(text) as { inputSchema?: unknown };
    return typeof inputSchema === 'object' && inputSchema !== null
      ? (inputSchema as Record<string, object>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Rules that no tool can match: a name that no server has, or an argument that no tool takes. */

import type { Logger } from '../../telemetry/index.ts';
import type { ToolNames } from '../contract.ts';

/** A tool as its server lists it. */
export interface ListedTool {
  readonly name: string | undefined;
  /** The JSON text of its definition. */
  readonly text: string;
}

/** Each rule is compared with the first complete list only: a session does not repeat the warnings of another one. */
const compared = new WeakSet<ToolNames>();

/** Are there rules that no list was compared with? */
export const hasNewRules = (rules: readonly ToolNames[] | undefined): rules is readonly ToolNames[] =>
  rules?.some((rule) => !compared.has(rule)) === true;

/**
 * Warns of names and arguments in rules that no tool has.
 * @param tools all tools of all targets
 */
export function compareWithTools(
  rules: readonly ToolNames[],
  tools: readonly ListedTool[],
  log: Pick<Logger, 'warn'>,
): void {
  const names = new Set(tools.map(({ name }) => name));
  let parameters: ReadonlySet<string> | undefined | 'any';
  for (const rule of rules) {
    if (compared.has(rule)) continue;
    compared.add(rule);
    for (const tool of rule.tools)
      if (!names.has(tool)) log.warn('Rule names a tool that no server has', { tool, ...rule.by });
    if (rule.arguments.length === 0) continue;
    parameters ??= parametersOf(tools);
    for (const argument of rule.arguments)
      if (parameters !== 'any' && !parameters.has(argument))
        log.warn('Rule reads an argument that no tool has', { argument, ...rule.by });
  }
}

/** The parameters of all tools; `any` where one of them takes more than its schema names. */
function parametersOf(tools: readonly ListedTool[]): ReadonlySet<string> | 'any' {
  const found = new Set<string>();
  for (const { text } of tools) {
    const schema = schemaOf(text);
    // A schema may name parameters in many ways (`allOf`, `$ref`); only the plain one is sure to name all.
    if (schema === undefined || Object.keys(schema).some((key) => !plain.has(key))) return 'any';
    for (const name of Object.keys(schema['properties'] ?? {})) found.add(name);
  }
  return found;
}

const plain: ReadonlySet<string> = new Set([
  '$schema',
  'type',
  'properties',
  'required',
  'title',
  'description',
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

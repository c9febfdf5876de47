import type { JsonObject } from './descriptionText.ts';

/** Methods that change nothing (RFC 9110 §9.2.1), and those that may be repeated (§9.2.2). */
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const idempotent: ReadonlySet<string> = new Set([...safe, 'PUT', 'DELETE']);
/** Methods that replace or remove something. MCP assumes it of every other tool that says nothing. */
const destructive: ReadonlySet<string> = new Set(['PUT', 'DELETE']);

/** The hints about a tool that its method gives (MCP, Schema, "ToolAnnotations"). */
export const annotationsOf = (method: string): JsonObject => ({
  readOnlyHint: safe.has(method),
  ...(safe.has(method)
    ? { destructiveHint: false }
    : destructive.has(method)
      ? { destructiveHint: true }
      : {}),
  idempotentHint: idempotent.has(method),
  openWorldHint: true,
});

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;

/** The title and the description of a tool: the summary and the description of its operation. */
export function textsOf(operation: JsonObject, item: JsonObject, method: string, path: string): JsonObject {
  const summary = textOf(operation['summary']) ?? textOf(item['summary']);
  const description = textOf(operation['description']) ?? summary ?? textOf(item['description']);
  const deprecated = operation['deprecated'] === true ? 'Deprecated. ' : '';
  return {
    ...(summary === undefined ? {} : { title: summary }),
    description: deprecated + (description ?? `${method} ${path}`),
  };
}

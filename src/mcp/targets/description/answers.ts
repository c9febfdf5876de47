import { isObject, type JsonObject } from './descriptionText.ts';
import type { References } from './references.ts';
import type { Schema, SchemaWriter } from './schemaWriter.ts';

/**
 * The schema of what a tool answers: only where every success of the operation is the same JSON object. MCP demands the
 * object of every answer then (Tools, "Output Schema").
 * @throws DescriptionError
 */
export function answerSchema(
  responses: unknown,
  references: References,
  writer: SchemaWriter,
): JsonObject | undefined {
  if (!isObject(responses)) return undefined;
  const schemas = Object.entries(responses)
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .map(([status, response]) => jsonSchema(references.follow(response, `the response ${status}`)));
  const [schema] = schemas;
  if (schema === undefined || !schemas.every((one) => JSON.stringify(one) === JSON.stringify(schema)))
    return undefined;
  const top = references.follow(schema, 'a schema');
  if (!isObjectSchema(top, references)) return undefined;
  // Clients want the type at the top: a mere reference has none.
  const written: Schema = writer.write(top);
  if (typeof written === 'boolean') return undefined;
  const definitions = writer.definitions();
  return { ...written, type: 'object', ...(definitions === undefined ? {} : { $defs: definitions }) };
}

/** The schema of a response as JSON, which requests prefer (`Accept`). */
function jsonSchema({ content }: JsonObject): unknown {
  const types = isObject(content) ? Object.entries(content) : [];
  const [, media] =
    types.find(([type]) => /^application\/json\s*(?:;|$)/i.test(type)) ??
    types.find(([type]) => /^application\/[^;\s]+\+json\s*(?:;|$)/i.test(type)) ??
    [];
  return isObject(media) ? media['schema'] : undefined;
}

/** Is every value of the schema an object? @param seen the schemas that have been asked, which may be recursive */
function isObjectSchema(schema: unknown, references: References, seen = new Set<unknown>()): boolean {
  if (!isObject(schema)) return false;
  const one = references.follow(schema, 'a schema');
  if (seen.has(one)) return false;
  seen.add(one);
  if (one['nullable'] === true) return false;
  if (one['type'] !== undefined) return one['type'] === 'object';
  if (isObject(one['properties'])) return true;
  const { allOf, oneOf, anyOf } = one;
  const isOne = (part: unknown): boolean => isObjectSchema(part, references, seen);
  if (Array.isArray(allOf) && allOf.some(isOne)) return true;
  const choices: unknown = oneOf ?? anyOf;
  return Array.isArray(choices) && choices.length > 0 && choices.every(isOne);
}

import { ComposeError, composeYaml } from '../../../files/index.ts';

/** The reason why a description cannot be used; its message is for the operator. */
export class DescriptionError extends Error {}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const maxDepth = 128;
const maxValues = 1_000_000;
const yamlLimits = { maxOpenTokens: 4 * maxDepth, maxTokens: 5 * maxValues };
/** Values that aliases may repeat, for each value that they repeat. */
const maxAliasCount = 100;

/** Counts the values of all documents of a description. */
export class ValueBudget {
  private left = maxValues;

  /** @throws DescriptionError */
  take(): void {
    if (--this.left < 0) throw new DescriptionError(`has more than ${maxValues} values`);
  }
}

/**
 * Reads the text of a document of a description, which is JSON or YAML.
 * @throws DescriptionError
 */
export function readDocument(text: string, budget: ValueBudget): JsonObject {
  const body = text.replace(/^\uFEFF/, '');
  const value = /^\s*\{/.test(body) ? fromJson(body) : fromYaml(body);
  checkSize(value, budget);
  if (!isObject(value)) throw new DescriptionError('is no OpenAPI description: expected an object');
  return value;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The rest of the message quotes the text.
    const [at] = /line \d+ column \d+/.exec((error as Error).message) ?? [];
    throw new DescriptionError(`is not valid JSON${at === undefined ? '' : `: ${at}`}`);
  }
}

function fromYaml(text: string): unknown {
  try {
    const document = composeYaml(text, yamlLimits);
    const [fault] = document.errors;
    if (fault !== undefined) throw new DescriptionError(`is not valid YAML: ${fault.code.toLowerCase()}`);
    return document.toJS({ maxAliasCount });
  } catch (error) {
    if (error instanceof DescriptionError) throw error;
    const why = error instanceof ComposeError ? error.message : 'its aliases repeat each other too often';
    throw new DescriptionError(`is not valid YAML: it ${why}`);
  }
}

/** The code behind this can recurse: no value is too deep for it, and an alias to its own parent counts as deep. */
function checkSize(top: unknown, budget: ValueBudget): void {
  const open: [value: unknown, depth: number][] = [[top, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    budget.take();
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= maxDepth) throw new DescriptionError(`is nested deeper than ${maxDepth} levels`);
    for (const part of Object.values(value)) open.push([part, depth + 1]);
  }
}

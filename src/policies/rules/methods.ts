import { comparedTexts } from '../../cel/index.ts';

/** The requests that name an item or a task: rules judge no others. */
const judgedMethods: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
]);

const methodName: ReadonlySet<string> = new Set(['mcp.methodName']);

/** The reason why a comparison of `mcp.methodName` is a mistake; undefined where there is none. */
export function methodProblem(expression: string): string | undefined {
  const wrong = comparedTexts(expression, methodName).find((method) => !judgedMethods.has(method));
  if (wrong === undefined) return undefined;
  return `rules judge no request of method ${wrong}; they judge ${[...judgedMethods].join(', ')}`;
}

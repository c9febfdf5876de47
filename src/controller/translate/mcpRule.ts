import type { PolicyUse } from '../../model/index.ts';
import type { GrpcRouteRule, HttpRouteRule } from '../types/index.ts';
import { isMcpRef } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { aboutForwarding as policiesAboutForwarding } from './policyKinds.ts';

/** The filters about an HTTP request that is forwarded as it is: no such request goes to MCP servers. */
const aboutForwarding: ReadonlySet<string> = new Set(['URLRewrite', 'RequestMirror']);

/**
 * The settings that a rule with an McpBackend cannot have beside it.
 * @param own policies that the rule names, be it by fields or by filters
 */
export function mcpRuleProblem(
  rule: HttpRouteRule | GrpcRouteRule,
  own: readonly PolicyUse[],
): Problem | undefined {
  const { backendRefs = [], filters = [] } = rule;
  const found = backendRefs.find(isMcpRef);
  if (found === undefined) return undefined;
  if (backendRefs.length > 1)
    // Drawn anew for each request, the second one would come to a server that knows nothing of the session.
    return problem(
      'UnsupportedValue',
      'an McpBackend stands alone in its rule, since a session has one server',
    );
  const filter = filters.find(({ type }) => aboutForwarding.has(type));
  if (filter !== undefined) return problem('UnsupportedValue', `${filter.type} is not for McpBackends`);
  if ((found.filters ?? []).length > 0)
    return problem('UnsupportedValue', 'filters of an McpBackend are not supported; those of the rule are');
  const field = (['retry', 'sessionPersistence'] as const).find((name) => name in rule);
  const named = field ?? own.find(({ name }) => policiesAboutForwarding.has(name))?.name;
  return named === undefined ? undefined : problem('UnsupportedValue', `${named} is not for McpBackends`);
}

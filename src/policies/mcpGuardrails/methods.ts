/** The MCP methods that a processor checks. */

/** When a processor checks the messages of a method. */
export type Phase = 'off' | 'request' | 'response' | 'full';

/** Requests that the gateway answers by itself, so no processor gets them. */
const answeredByGateway: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'subscriptions/listen',
]);

/** The reason why no request can match a pattern; undefined if one can. */
export function patternFault(pattern: string): string | undefined {
  if (!/^(?:\*|[a-z]+(?:\/[a-z]+)*|[a-z]+(?:\/[a-z]+)*\/\*|\*(?:\/[a-z]+)+)$/i.test(pattern))
    return 'expected a method (tools/call), a prefix (tools/*), a suffix (*/list) or *';
  if (answeredByGateway.has(pattern)) return `the gateway answers ${pattern} by itself: no processor gets it`;
  return pattern.startsWith('notifications/') ? 'processors check requests, no notifications' : undefined;
}

function matcher(pattern: string): (method: string) => boolean {
  if (pattern === '*') return () => true;
  if (pattern.endsWith('/*')) return (method) => method.startsWith(pattern.slice(0, -1));
  if (pattern.startsWith('*/')) return (method) => method.endsWith(pattern.slice(1));
  return (method) => method === pattern;
}

const isExact = (pattern: string): boolean => !pattern.includes('*');

/** The phase of a method: an exact name counts before a pattern, and a longer pattern before a shorter one. */
export function phaseOf(methods: Readonly<Record<string, Phase>>): (method: string) => Phase {
  const patterns = Object.keys(methods).toSorted(
    (a, b) => Number(isExact(b)) - Number(isExact(a)) || b.length - a.length,
  );
  const rows = patterns.map((pattern) => ({ matches: matcher(pattern), phase: methods[pattern] ?? 'off' }));
  return (method) => rows.find(({ matches }) => matches(method))?.phase ?? 'off';
}

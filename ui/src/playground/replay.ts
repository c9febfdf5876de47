/** A recorded request that the playground sends again. */

import type { AuditLines, RequestRecord, RouteView } from '../api/types.ts';
import { routeOf } from '../rules/recentCallers.ts';
import type { KindName } from './ItemPanels.tsx';

export interface Replay {
  /** Id of the route. */
  readonly route: string;
  readonly method: string;
  readonly path: string;
  /** The item of an MCP request. */
  readonly item?: { readonly kind: KindName; readonly name: string };
  /** The arguments of the audit stream: values, or their types where only names were recorded. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly hasValues: boolean;
}

const kinds: readonly (readonly [string, KindName])[] = [
  ['mcp.tool', 'Tools'],
  ['mcp.prompt', 'Prompts'],
  ['mcp.resource', 'Resources'],
];

/**
 * Makes the replay of a record.
 * @param audit has the arguments of a request where the configuration lets the gateway record them
 * @returns undefined where the configuration no longer has the route
 */
export function replayOf(
  record: RequestRecord,
  routes: readonly RouteView[],
  audit: AuditLines | undefined,
): Replay | undefined {
  const route = routes.find(({ id }) => id === routeOf(record));
  if (route === undefined || route.kind === 'tcp') return undefined;
  const [item] = kinds.flatMap(([field, kind]) => {
    const name = record.extra?.[field];
    return name === undefined ? [] : [{ kind, name: String(name) }];
  });
  const found = audit?.lines.find(
    (line) => line['api.request.uid'] === record.requestId && 'mcp.arguments' in line,
  );
  const args = found?.['mcp.arguments'];
  const isObject = typeof args === 'object' && args !== null;
  return {
    route: route.id,
    method: record.method,
    path: record.path,
    ...(item && { item }),
    ...(isObject && { arguments: args as Readonly<Record<string, unknown>> }),
    hasValues: audit?.arguments === 'redacted' || audit?.arguments === 'full',
  };
}

/** The replay that another page handed over, for this route. */
export function handedReplay(route: string): Replay | undefined {
  const state: unknown = history.state;
  if (typeof state !== 'object' || state === null || !('replay' in state)) return undefined;
  const replay = state.replay as Replay;
  return replay.route === route ? replay : undefined;
}

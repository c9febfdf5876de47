/** Claim sets of the callers of recent requests. */

import { EventReader } from '../api/eventReader.ts';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { openAnswer } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import type { Claims } from '../api/rules.ts';
import type { Decision, RequestRecord } from '../api/types.ts';

/** The gateway sends its kept records at once, and then those of further requests. */
const readMs = 1_000;
const mostCallers = 20;
const recentKey = ['recent records'];

/** The callers of recent requests, and the tools that they named; the latest first. */
export interface RecentCalls {
  readonly callers: readonly Claims[];
  readonly tools: readonly string[];
}

const mostTools = 100;

/** Reads the requests that the gateway keeps, the oldest first. @throws ApiError */
export async function recentRecords(): Promise<readonly RequestRecord[]> {
  const enough = AbortSignal.timeout(readMs);
  const records: RequestRecord[] = [];
  const response = await openAnswer('requests', undefined, enough);
  const events = new EventReader(({ event, data }) => {
    if (event === 'request') records.push(JSON.parse(data) as RequestRecord);
  });
  const text = new TextDecoder();
  const reader = response.body?.getReader();
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      events.read(text.decode(part.value, { stream: true }));
  } catch (error) {
    if (!enough.aborted) throw error;
  }
  return records;
}

/** Callers and tools of the requests that the gateway keeps. They are read when the page opens, and on demand. */
export const useRecentRecords = (): UseQueryResult<readonly RequestRecord[]> =>
  useQuery({ queryKey: recentKey, queryFn: recentRecords, staleTime: Infinity });

/** Reads the records again. @throws ApiError */
export const newestRecords = (): Promise<readonly RequestRecord[]> =>
  queryClient.fetchQuery({ queryKey: recentKey, queryFn: recentRecords, staleTime: 0 });

/** The id of the route that a record names, as the list of routes has it. */
export const routeOf = ({ bind, listener, route }: RequestRecord): string => `${bind}/${listener}/${route}`;

/**
 * Callers and tools of records.
 * @param route takes the tools of this route only
 */
export function recentCalls(records: readonly RequestRecord[], route: string | undefined): RecentCalls {
  const tools = records
    .toReversed()
    .filter((record) => route === undefined || routeOf(record) === route)
    .flatMap(({ extra }) => extra?.['mcp.tool'] ?? []);
  return { callers: callersOf(records), tools: [...new Set(tools.map(String))].slice(0, mostTools) };
}

/**
 * The callers of records, the latest first. A record has the claims that rules read, and no others.
 * @param records the oldest first
 */
export function callersOf(records: readonly Pick<RequestRecord, 'decision'>[]): readonly Claims[] {
  const callers = new Map<string, Record<string, unknown>>();
  for (const { decision } of records) {
    const { subject, issuer } = decision?.caller ?? {};
    if (decision === undefined || subject === undefined) continue;
    const id = `${issuer ?? ''} ${subject}`;
    const claims = { ...callers.get(id), sub: subject, ...claimsRead(decision) };
    // The latest caller comes last.
    callers.delete(id);
    callers.set(id, claims);
  }
  return [...callers.values()].toReversed().slice(0, mostCallers);
}

function claimsRead({ policies, mcp = [] }: Decision): Record<string, unknown> {
  const rules = [...policies, ...mcp].flatMap((each) => each.rules ?? []);
  return Object.fromEntries(
    rules.flatMap(({ claims = {} }) =>
      Object.entries(claims).flatMap(([name, json]) => {
        try {
          return [[name, JSON.parse(json) as unknown]];
        } catch {
          // Absent, or too long to be recorded whole.
          return [];
        }
      }),
    ),
  );
}

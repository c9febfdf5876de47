/** The queries of the console. Each has one owner, so that pages share their answers. */

import { hashKey, QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { ApiError, ask, keepWriteToken } from './client.ts';
import type { AuditLines, McpSession, RouteView, Session, Status, Target } from './types.ts';

/** A refused session shows the login page, whichever request found out. */
export const isLoggedOut = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/** The cache's name of the query of the session. */
const sessionHash = hashKey(['session']);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, refetchOnWindowFocus: true, staleTime: 1_000, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

queryClient.getQueryCache().subscribe(({ query, type }) => {
  if (type === 'updated' && query.queryHash !== sessionHash && isLoggedOut(query.state.error))
    void queryClient.resetQueries({ queryKey: ['session'] });
});

export const useSession = (): UseQueryResult<Session> =>
  useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      const session = await ask<Session>('session');
      keepWriteToken(session.writeToken);
      return session;
    },
    staleTime: Infinity,
  });

const every = (ms: number) => ({ refetchInterval: ms });

const statusQuery = { queryKey: ['status'], queryFn: () => ask<Status>('status') };

/** Reads the status again and again. */
export const useStatusEvery = (ms: number): UseQueryResult<Status> =>
  useQuery({ ...statusQuery, ...every(ms) });

export const useStatus = (): UseQueryResult<Status> => useStatusEvery(2_000);

/** Reads the status now. */
export const readStatus = (): Promise<Status> => queryClient.fetchQuery({ ...statusQuery, staleTime: 0 });

export const useMcpSessions = (): UseQueryResult<readonly McpSession[]> =>
  useQuery({
    queryKey: ['sessions'],
    queryFn: () => ask<readonly McpSession[]>('sessions'),
    ...every(3_000),
  });

export const useTargets = (): UseQueryResult<readonly Target[]> =>
  useQuery({ queryKey: ['targets'], queryFn: () => ask<readonly Target[]>('targets'), ...every(3_000) });

export const useAudit = (): UseQueryResult<AuditLines> =>
  useQuery({ queryKey: ['audit'], queryFn: () => ask<AuditLines>('audit?limit=200'), ...every(3_000) });

export const useRoutes = (): UseQueryResult<readonly RouteView[]> =>
  useQuery({ queryKey: ['routes'], queryFn: () => ask<readonly RouteView[]>('routes'), ...every(10_000) });

import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import { queryClient, useMcpSessions, useSession } from '../api/queries.ts';
import type { McpSession } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { routeName } from '../parts/routeName.ts';
import { Tag } from '../parts/Tag.tsx';
import { ago } from '../parts/time.ts';

/** The MCP sessions with their servers; an operator can end one. */
export function SessionsPanel() {
  const sessions = useMcpSessions();
  const canWrite = useSession().data?.canWrite === true;
  const end = useMutation({
    mutationFn: (label: string) =>
      ask<undefined>(`sessions/${encodeURIComponent(label)}`, { method: 'DELETE' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <Loaded query={sessions} doing="Reading the sessions">
      {(list) => (
        <>
          {end.error !== null && <Failure error={end.error} doing="Ending the session" />}
          {list.length === 0 ? (
            <p className="quiet">No MCP session is open.</p>
          ) : (
            <div className="scroll">
              <table className="grid" aria-label="Sessions">
                <thead>
                  <tr>
                    <th scope="col">Session</th>
                    <th scope="col">User</th>
                    <th scope="col">Client</th>
                    <th scope="col" className="wide">
                      Route
                    </th>
                    <th scope="col" className="wide">
                      Last use
                    </th>
                    <th scope="col">Servers</th>
                    {canWrite && <th scope="col">End</th>}
                  </tr>
                </thead>
                <tbody>
                  {list.map((session) => (
                    <SessionRow
                      key={session.label}
                      session={session}
                      {...(canWrite ? { onEnd: () => end.mutate(session.label) } : {})}
                    />
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}

function SessionRow({ session, onEnd }: { session: McpSession; onEnd?: () => void }) {
  const { label, subject, client, route, revision, lastUsedAt, targets } = session;
  return (
    <tr>
      <td className="mono">{label}</td>
      <td>{subject ?? <span className="quiet">none</span>}</td>
      <td>
        {client?.name} {client?.version} <span className="quiet">{revision}</span>
      </td>
      <td className="wide" title={route}>
        {routeName(route)}
      </td>
      <td className="wide">{ago(lastUsedAt)}</td>
      <td>
        {targets.map((target) => (
          <div key={target.name}>
            {target.name} <Tag tone={stateTone(target.state)}>{target.state}</Tag>
            {target.pid !== undefined && <span className="quiet"> process {target.pid}</span>}
            {(target.restarts ?? 0) > 0 && <span className="quiet"> {target.restarts} restarts</span>}
          </div>
        ))}
      </td>
      {onEnd !== undefined && (
        <td>
          <Button variant="default" size="compact-xs" onClick={onEnd} aria-label={`End session ${label}`}>
            End
          </Button>
        </td>
      )}
    </tr>
  );
}

/** The colour of the state of a server. */
export const stateTone = (state: string): 'good' | 'bad' | 'plain' =>
  /^(ready|running|serving|open|connected)$/.test(state)
    ? 'good'
    : /^(broken|failed|dead|down|exited)$/.test(state)
      ? 'bad'
      : 'plain';

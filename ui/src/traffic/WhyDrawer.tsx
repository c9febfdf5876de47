import { Button, Drawer, Group, Stack } from '@mantine/core';
import { useLocation } from 'wouter';
import { useAudit, useRoutes, useSession } from '../api/queries.ts';
import type { RequestRecord } from '../api/types.ts';
import { Note } from '../parts/Note.tsx';
import { clock, shortMs } from '../parts/time.ts';
import { DecisionTree } from '../parts/DecisionTree.tsx';
import { replayOf } from '../playground/replay.ts';
import { routeOf } from '../rules/recentCallers.ts';
import { textOf } from '../rules/requestText.ts';
import { mcpText } from './outcome.ts';

/** Why a request ended as it did. */
export function WhyDrawer({ record, onClose }: { record: RequestRecord | undefined; onClose: () => void }) {
  const [, navigate] = useLocation();
  return (
    <Drawer
      opened={record !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title="Why"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {record !== undefined && (
        <Stack gap="sm">
          <div className="wrap">
            <strong>
              {record.method} {record.path}
            </strong>
            <div className="quiet">{mcpText(record)}</div>
          </div>
          {record.decision === undefined ? (
            <Note tone="warn">The decision about this request was too long to be recorded.</Note>
          ) : (
            <DecisionTree decision={record.decision} />
          )}
          <Group>
            <ReplayButton record={record} />
            <Button
              variant="default"
              size="xs"
              onClick={() =>
                navigate('/rules', { state: { request: textOf(record), route: routeOf(record) } })
              }
            >
              Try in Rules
            </Button>
          </Group>
          <Facts record={record} />
        </Stack>
      )}
    </Drawer>
  );
}

/** Opens the playground with what was recorded about the request. */
function ReplayButton({ record }: { record: RequestRecord }) {
  const [, navigate] = useLocation();
  const isOperator = useSession().data?.role === 'operator';
  const routes = useRoutes();
  const audit = useAudit();
  const replay = replayOf(record, routes.data ?? [], audit.data);
  if (!isOperator || replay === undefined) return null;
  return (
    <Button
      variant="default"
      size="xs"
      loading={audit.isPending}
      onClick={() => navigate(`/playground?route=${encodeURIComponent(replay.route)}`, { state: { replay } })}
    >
      Replay
    </Button>
  );
}

function Facts({ record }: { record: RequestRecord }) {
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ['time', clock(record.time)],
    ['duration', shortMs(record.durationMs)],
    ['status', record.status],
    ['host', record.host],
    ['client', record.client],
    ['request id', record.requestId],
    ['trace', record.traceparent],
    ['request bytes', record.requestBytes],
    ['response bytes', record.responseBytes],
    ...Object.entries(record.extra ?? {}),
  ];
  return (
    <table className="grid">
      <tbody>
        {facts
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="mono wrap">{value}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

import { Button, Group, SegmentedControl, Stack, Switch, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo, useState } from 'react';
import type { RequestRecord } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Tag } from '../parts/Tag.tsx';
import { useParameter } from '../parts/useParameter.ts';
import { clock, shortMs } from '../parts/time.ts';
import { isWanted, mcpText, outcomeOf, outcomeTones, reasonOf, type Wanted } from './outcome.ts';
import { useLiveRequests, type Row } from './requestStream.ts';
import { WhyDrawer } from './WhyDrawer.tsx';

/** Rows that the table shows at first, and further ones for each press of its button. */
const page = 100;
/** Narrow screens show no milliseconds. */
const secondsEnd = 8;

const outcomes = [
  { value: 'all', label: 'All' },
  { value: 'denied', label: 'Denied' },
  { value: 'failed', label: 'Failed' },
] as const;

/** The address may have any text. */
const outcomeNamed = (text: string): Wanted['outcome'] =>
  outcomes.find(({ value }) => value === text)?.value ?? 'all';

/** The live requests with their filters; a row opens the decision. */
export function RequestsPanel() {
  const [outcome, setOutcome] = useParameter('outcome', 'all');
  const [user, setUser] = useParameter('user');
  const [text, setText] = useParameter('text');
  const [filter, setFilter] = useParameter('filter');
  const [asked] = useDebouncedValue(filter.trim(), 500);
  const [paused, setPaused] = useState(false);
  const [most, setMost] = useState(page);
  const [chosen, setChosen] = useState<RequestRecord>();
  const live = useLiveRequests(asked, paused);
  const found = useMemo(
    () => live.rows.filter(({ record }) => isWanted(record, { outcome: outcomeNamed(outcome), user, text })),
    [live.rows, outcome, user, text],
  );
  return (
    <Stack gap="sm">
      <Group align="end" gap="sm">
        <SegmentedControl
          aria-label="Outcome"
          data={[...outcomes]}
          value={outcomeNamed(outcome)}
          onChange={setOutcome}
        />
        <TextInput
          label="User"
          size="xs"
          value={user}
          onChange={({ currentTarget }) => setUser(currentTarget.value)}
        />
        <TextInput
          label="Path, tool, route or rule"
          size="xs"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <TextInput
          label="Filter (CEL)"
          size="xs"
          flex={1}
          miw={180}
          classNames={{ input: 'mono' }}
          placeholder="response.code >= 400"
          value={filter}
          onChange={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        <Switch
          label="Pause"
          checked={paused}
          onChange={({ currentTarget }) => setPaused(currentTarget.checked)}
        />
      </Group>
      {live.problem !== undefined && <Failure error={live.problem} doing="Following the requests" />}
      <p className="quiet" role="status" style={{ margin: 0 }}>
        {live.connected ? 'Connected' : 'Connecting'}; {found.length} of {live.rows.length} requests
        {live.dropped > 0 && `; ${live.dropped} left out because they came too fast`}
      </p>
      <RequestTable rows={found.slice(0, most)} onOpen={setChosen} />
      {found.length > most && (
        <Button variant="default" onClick={() => setMost(most + page)}>
          Show {Math.min(page, found.length - most)} older requests
        </Button>
      )}
      <WhyDrawer record={chosen} onClose={() => setChosen(undefined)} />
    </Stack>
  );
}

function RequestTable({ rows, onOpen }: { rows: readonly Row[]; onOpen: (record: RequestRecord) => void }) {
  if (rows.length === 0)
    return (
      <p className="quiet">
        No requests yet. The gateway keeps refusals and errors, and all requests while this page is open.
      </p>
    );
  return (
    <div className="scroll">
      <table className="grid" aria-label="Requests">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Result</th>
            <th scope="col">Request</th>
            <th scope="col" className="wide">
              User
            </th>
            <th scope="col" className="wide">
              Route
            </th>
            <th scope="col" className="wide number">
              Duration
            </th>
            <th scope="col" className="wide">
              Rule or error
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, record }) => (
            <RequestRow key={key} record={record} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RequestRow({ record, onOpen }: { record: RequestRecord; onOpen: (record: RequestRecord) => void }) {
  const outcome = outcomeOf(record);
  return (
    <tr>
      <td className="mono">
        {clock(record.time).slice(0, secondsEnd)}
        <span className="wide">{clock(record.time).slice(secondsEnd)}</span>
      </td>
      <td>
        <Tag tone={outcomeTones[outcome]}>
          {outcome === 'served' ? record.status : `${outcome} ${record.status}`}
        </Tag>
      </td>
      <td className="request">
        <button type="button" className="open" onClick={() => onOpen(record)}>
          {record.method} {record.path}
          {mcpText(record) !== undefined && <> · {mcpText(record)}</>}
        </button>
        {outcome !== 'served' && (
          <div className="narrow quiet wrap">
            {[record.subject, reasonOf(record)]
              .filter((part) => part !== undefined && part !== '')
              .join(' · ')}
          </div>
        )}
      </td>
      <td className="wide">{record.subject}</td>
      <td className="wide">{record.route}</td>
      <td className="wide number">{shortMs(record.durationMs)}</td>
      <td className="wide wrap">{reasonOf(record)}</td>
    </tr>
  );
}

import { Group, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { Fragment, useState } from 'react';
import { useAudit } from '../api/queries.ts';
import type { AuditLines } from '../api/types.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag } from '../parts/Tag.tsx';
import { clock, shortMs } from '../parts/time.ts';
import { useParameter } from '../parts/useParameter.ts';
import { auditRow, auditTone, isWantedRow } from './auditRow.ts';

const columns = 7;

/** The last lines of the audit stream, newest first; a row opens the whole line. */
export function AuditPanel() {
  return (
    <Loaded query={useAudit()} doing="Reading the audit stream">
      {({ kept, lines }) => {
        if (!kept)
          return (
            <Note>The configuration has no audit stream. Set config.audit to record calls and changes.</Note>
          );
        if (lines.length === 0) return <p className="quiet">The audit stream has no line yet.</p>;
        return <FilteredLines lines={lines} />;
      }}
    </Loaded>
  );
}

function FilteredLines({ lines }: { lines: AuditLines['lines'] }) {
  const [outcome, setOutcome] = useParameter('outcome', 'all');
  const [user, setUser] = useParameter('user');
  const isDenied = outcome === 'denied';
  const found = lines
    .map((line, at) => ({ line, row: auditRow(line), key: `${line.time} ${at - lines.length}` }))
    .filter(({ row }) => isWantedRow(row, isDenied, user))
    .toReversed();
  return (
    <Stack gap="sm">
      <Group align="end" gap="sm">
        <SegmentedControl
          aria-label="Outcome"
          data={[
            { value: 'all', label: 'All' },
            { value: 'denied', label: 'Denied' },
          ]}
          value={isDenied ? 'denied' : 'all'}
          onChange={setOutcome}
        />
        <TextInput
          label="User"
          size="xs"
          value={user}
          onChange={({ currentTarget }) => setUser(currentTarget.value)}
        />
      </Group>
      <p className="quiet" role="status" style={{ margin: 0 }}>
        {found.length} of the last {lines.length} lines
      </p>
      <div className="scroll">
        <table className="grid" aria-label="Audit">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Operation</th>
              <th scope="col" className="wide">
                User
              </th>
              <th scope="col">Action</th>
              <th scope="col" className="wide">
                Outcome
              </th>
              <th scope="col" className="wide">
                Policy and rule
              </th>
              <th scope="col" className="wide number">
                Duration
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map(({ key, line, row }) => (
              <AuditLineRow key={key} line={line} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </Stack>
  );
}

function AuditLineRow({ line, row }: { line: object; row: ReturnType<typeof auditRow> }) {
  const [isOpen, setOpen] = useState(false);
  const { time, operation, item, user, action, outcome, decidedBy, durationMs } = row;
  return (
    <Fragment>
      <tr>
        <td className="mono">{clock(time).slice(0, 8)}</td>
        <td>
          <button type="button" className="open" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {operation} {item}
          </button>
          <div className="narrow quiet wrap">
            {[user, decidedBy].filter((part) => part !== '').join(' · ')}
          </div>
        </td>
        <td className="wide">{user}</td>
        <td>{action !== '' && <Tag tone={auditTone(row)}>{action}</Tag>}</td>
        <td className="wide">{outcome}</td>
        <td className="wide wrap">{decidedBy}</td>
        <td className="wide number">{durationMs === undefined ? '' : shortMs(durationMs)}</td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={columns}>
            <pre className="lines" tabIndex={0} aria-label="The whole line">
              {JSON.stringify(line, null, 2)}
            </pre>
          </td>
        </tr>
      )}
    </Fragment>
  );
}

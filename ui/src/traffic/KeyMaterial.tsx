import type { ReactNode } from 'react';
import type { Status } from '../api/types.ts';
import { Tag, type Tone } from '../parts/Tag.tsx';
import { ago } from '../parts/time.ts';

const tones: Readonly<Record<string, Tone>> = { ready: 'good', stale: 'warn', waiting: 'bad', broken: 'bad' };

const State = ({ state }: { state: string }) => <Tag tone={tones[state] ?? 'plain'}>{state}</Tag>;

/** The certificates that the gateway shows to clients. */
export const Certificates = ({ list }: { list: Status['certificates'] }) => (
  <Folded
    name="Certificates"
    list={list}
    columns={['Certificate', 'State', 'Expires']}
    row={({ certificate, state, expiresAt }) => [
      certificate,
      <State key="state" state={state} />,
      expiresAt === null ? '–' : expiresAt.slice(0, 10),
    ]}
  />
);

/** The key sets that the gateway checks tokens with. */
export const KeySets = ({ list }: { list: Status['keySets'] }) => (
  <Folded
    name="Key sets"
    list={list}
    columns={['Key set', 'State', 'Keys', 'Read']}
    row={({ source, state, keys, loadedAt }) => [
      source,
      <State key="state" state={state} />,
      keys,
      loadedAt === undefined ? 'never' : ago(loadedAt),
    ]}
  />
);

function Folded<Entry extends { readonly state: string }>(props: {
  name: string;
  list: readonly Entry[];
  columns: readonly string[];
  row: (entry: Entry) => readonly ReactNode[];
}) {
  const { name, list, columns, row } = props;
  if (list.length === 0) return null;
  const ready = list.filter(({ state }) => state === 'ready').length;
  return (
    <details className="folded">
      <summary>
        {name}: {ready} of {list.length} ready
      </summary>
      <div className="scroll">
        <table className="grid" aria-label={name}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {list.map((entry, at) => (
              // eslint-disable-next-line react/no-array-index-key -- inline certificates have one name
              <tr key={at}>
                {row(entry).map((cell, column) => (
                  <td key={columns[column]} className="wrap">
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

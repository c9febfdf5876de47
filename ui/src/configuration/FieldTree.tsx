import { Switch } from '@mantine/core';
import { useState } from 'react';
import type { ConfigField } from '../api/types.ts';
import { Tag } from '../parts/Tag.tsx';

/** Branches that are open at first. */
const openDepth = 2;

/** The configuration in use, with the origin of each value. */
export function FieldTree({ fields }: { fields: readonly ConfigField[] }) {
  const [showsDefaults, setShowsDefaults] = useState(true);
  return (
    <>
      <Switch
        mb="xs"
        label="Show defaults"
        checked={showsDefaults}
        onChange={({ currentTarget }) => setShowsDefaults(currentTarget.checked)}
      />
      <ul className="tree mono" aria-label="Configuration in use">
        <Members fields={fields} depth={0} showsDefaults={showsDefaults} />
      </ul>
    </>
  );
}

function Members(props: { fields: readonly ConfigField[]; depth: number; showsDefaults: boolean }) {
  const { fields, depth, showsDefaults } = props;
  return fields
    .filter((field) => showsDefaults || !isDefault(field))
    .map((field) => (
      <li key={field.name}>
        {field.fields === undefined ? (
          <>
            <span className="quiet">{field.name}:</span> {textOf(field)} <Origin field={field} />
          </>
        ) : (
          <details open={depth < openDepth}>
            <summary>
              {field.name} <Origin field={field} />
            </summary>
            <ul>
              <Members fields={field.fields} depth={depth + 1} showsDefaults={showsDefaults} />
            </ul>
          </details>
        )}
      </li>
    ));
}

/** Defaults are texts of the documentation, and other values are those of the file. */
const textOf = ({ from, value }: ConfigField): string =>
  from === 'default' ? String(value) : JSON.stringify(value ?? null);

/** A branch of defaults has nothing that the file sets. */
const isDefault = ({ from, fields }: ConfigField): boolean =>
  from === 'default' && (fields ?? []).every(isDefault);

function Origin({ field: { from, by, place } }: { field: ConfigField }) {
  if (from === 'file') return <span className="quiet">{place}</span>;
  if (from === 'default') return <Tag>default</Tag>;
  return (
    <>
      <Tag tone="info">
        {from} {by}
      </Tag>{' '}
      {place !== undefined && <span className="quiet">{place}</span>}
    </>
  );
}

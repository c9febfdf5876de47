/** JSON data as a tree whose branches can be folded; deep ones are folded at first. */
export const ValueTree = ({ value, label }: { value: unknown; label: string }) => (
  <ul className="tree mono" aria-label={label}>
    <Members value={value} depth={0} />
  </ul>
);

/** Branches that are open at first. */
const openDepth = 2;

const membersOf = (value: object): readonly (readonly [string, unknown])[] =>
  Array.isArray(value) ? value.map((each, at) => [String(at), each as unknown]) : Object.entries(value);

function Members({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value !== 'object' || value === null) return <li>{textOf(value)}</li>;
  return membersOf(value).map(([name, member]) => (
    <Member key={name} name={name} value={member} depth={depth} />
  ));
}

function Member({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  if (typeof value !== 'object' || value === null)
    return (
      <li>
        <span className="quiet">{name}:</span> {textOf(value)}
      </li>
    );
  const { place, ...rest } = value as { readonly place?: unknown };
  const origin = originOf(place);
  const shown = origin === undefined ? value : rest;
  const count = membersOf(shown).length;
  if (count === 0)
    return (
      <li>
        <span className="quiet">{name}:</span> {Array.isArray(value) ? '[]' : '{}'}
      </li>
    );
  return (
    <li>
      <details open={depth < openDepth}>
        <summary>
          {name} <span className="quiet">({count})</span>
          {origin !== undefined && <span className="quiet"> from {origin}</span>}
        </summary>
        <ul>
          <Members value={shown} depth={depth + 1} />
        </ul>
      </details>
    </li>
  );
}

/** The place of a value in the configuration: `config.yaml:8:7`. */
function originOf(place: unknown): string | undefined {
  const { file, line, column } = Object(place) as Readonly<Record<string, unknown>>;
  if (typeof file !== 'string' || typeof line !== 'number') return undefined;
  return `${file.split('/').at(-1) ?? file}:${line}:${String(column)}`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

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
  const count = membersOf(value).length;
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
        </summary>
        <ul>
          <Members value={value} depth={depth + 1} />
        </ul>
      </details>
    </li>
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

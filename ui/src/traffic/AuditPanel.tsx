import { useAudit } from '../api/queries.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';

/** The last lines of the audit stream, newest first. */
export function AuditPanel() {
  return (
    <Loaded query={useAudit()} doing="Reading the audit stream">
      {({ kept, lines }) => {
        if (!kept)
          return (
            <Note>The configuration has no audit stream. Set config.audit to record calls and changes.</Note>
          );
        if (lines.length === 0) return <p className="quiet">The audit stream has no line yet.</p>;
        return (
          <ul className="tree" aria-label="Audit lines, newest first">
            {lines.toReversed().map((line, at) => (
              // eslint-disable-next-line react/no-array-index-key -- lines have no id
              <li key={at}>
                <details>
                  <summary className="mono wrap">{summaryOf(line)}</summary>
                  <pre className="lines" tabIndex={0} aria-label="The whole line">
                    {JSON.stringify(line, null, 2)}
                  </pre>
                </details>
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

/** The most important members, in the order of `kinds`; the whole line where it has none of them. */
function summaryOf(line: Readonly<Record<string, unknown>>): string {
  const kinds = ['time', 'event', 'mcp.method', 'mcp.item', 'subject', 'decision', 'rule', 'outcome'];
  const parts = kinds.flatMap((name) => {
    const value = line[name];
    return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
  });
  return parts.length < 2 ? JSON.stringify(line) : parts.join('  ');
}

import type { CheckedText, ConfigProblem } from '../api/types.ts';
import { Note } from '../parts/Note.tsx';
import { routeName } from '../parts/routeName.ts';

/** The judgement about an edited text: its problems, or what would change. */
export const CheckReport = ({ check }: { check: CheckedText }) => (
  <>
    {check.problems.length > 0 && (
      <Note tone="bad">
        <p>
          <strong>The configuration cannot be saved.</strong>
        </p>
        <Problems list={check.problems} />
      </Note>
    )}
    {check.warnings.length > 0 && (
      <Note tone="warn">
        <Problems list={check.warnings} />
      </Note>
    )}
    {check.ok && (
      <Note tone="good">
        <p>
          <strong>The configuration is valid.</strong> {summaryOf(check)}
        </p>
      </Note>
    )}
  </>
);

const Problems = ({ list }: { list: readonly ConfigProblem[] }) => (
  <ul>
    {list.map(({ message, path, line, column, hint }) => (
      <li key={`${path} ${line} ${message}`}>
        {line !== undefined && (
          <b>
            Line {line}, column {column}:{' '}
          </b>
        )}
        {path !== '' && <span className="mono">{path}: </span>}
        {message}
        {hint !== undefined && ` (${hint})`}
      </li>
    ))}
  </ul>
);

function summaryOf({ changes }: CheckedText): string {
  if (changes === null) return '';
  const { routes, sessionsEnded, childrenStopped, needsRestart } = changes;
  const lists = (['added', 'changed', 'removed'] as const)
    .filter((kind) => routes[kind].length > 0)
    .map((kind) => `Routes ${kind}: ${routes[kind].map(routeName).join(', ')}.`);
  return [
    ...(lists.length === 0 ? ['No route changes.'] : lists),
    `Ends ${sessionsEnded} MCP ${sessionsEnded === 1 ? 'session' : 'sessions'}`,
    `and stops ${childrenStopped} child ${childrenStopped === 1 ? 'process' : 'processes'}.`,
    ...(needsRestart ? ['Some settings take effect at the next start only.'] : []),
  ].join(' ');
}

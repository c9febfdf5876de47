import { Stack } from '@mantine/core';
import { useTargets } from '../api/queries.ts';
import type { Target } from '../api/types.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { routeName } from '../parts/routeName.ts';
import { Tag } from '../parts/Tag.tsx';
import { stateTone } from './SessionsPanel.tsx';

/** The MCP servers of all routes, with the last lines that they wrote to their standard error. */
export function TargetsPanel() {
  return (
    <Loaded query={useTargets()} doing="Reading the targets">
      {(targets) =>
        targets.length === 0 ? (
          <p className="quiet">The configuration has no MCP server.</p>
        ) : (
          <Stack gap="sm">
            {targets.map((target) => (
              <TargetView key={`${target.route} ${target.name}`} target={target} />
            ))}
          </Stack>
        )
      }
    </Loaded>
  );
}

function TargetView({ target }: { target: Target }) {
  const { route, name, kind, state, sessions, problem, restarts, circuit, hidden, hiddenCount, stderr } =
    target;
  return (
    <section className="panel" aria-label={`Target ${name}`}>
      <strong>{name}</strong> <Tag tone={stateTone(state)}>{state}</Tag>{' '}
      <span className="quiet">
        {kind} of route <span title={route}>{routeName(route)}</span>, {sessions}{' '}
        {sessions === 1 ? 'session' : 'sessions'}
        {restarts !== undefined && `, ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}`}
      </span>
      {problem !== undefined && <p className="wrap">{problem}</p>}
      {circuit !== undefined && (
        <p className="quiet">
          New sessions try it again at {new Date(circuit.retryAt).toLocaleTimeString()}.
        </p>
      )}
      {hiddenCount > 0 && (
        <details>
          <summary>
            {hiddenCount} hidden {hiddenCount === 1 ? 'item' : 'items'}: another target owns the name
          </summary>
          <ul className="wrap">
            {hidden.map((item) => (
              <li key={`${item.kind} ${item.name}`}>
                {item.kind} <code>{item.name}</code>, owned by {item.owner}
              </li>
            ))}
          </ul>
        </details>
      )}
      {stderr.length > 0 && (
        <details>
          <summary>Standard error, the last {stderr.length} lines</summary>
          <pre className="lines" tabIndex={0} aria-label={`Standard error of ${name}`}>
            {stderr.join('\n')}
          </pre>
        </details>
      )}
    </section>
  );
}

import { Tag } from '../parts/Tag.tsx';
import { clock } from '../parts/time.ts';
import type { Entry } from './mcpSession.ts';

/** The raw messages, newest first. */
export const Protocol = ({ entries }: { entries: readonly Entry[] }) => (
  <section aria-label="Protocol">
    <ul className="tree">
      {entries.toReversed().map(({ id, at, direction, title, text }) => (
        <li key={id}>
          <details>
            <summary>
              <span className="mono">{clock(at)}</span>{' '}
              <Tag tone={direction === 'sent' ? 'info' : 'plain'}>{direction}</Tag> {title}
            </summary>
            <pre className="lines" tabIndex={0} aria-label={`Message ${id}`}>
              {text === '' ? '(no body)' : text}
            </pre>
          </details>
        </li>
      ))}
    </ul>
  </section>
);

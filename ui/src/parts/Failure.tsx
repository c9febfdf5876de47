import { ApiError } from '../api/client.ts';
import { Note } from './Note.tsx';

/** Reports a failed request, with the problems that the gateway lists. */
export const Failure = ({ error, doing }: { error: Error; doing: string }) => (
  <Note tone="bad">
    <p>
      <strong>{doing} failed.</strong>{' '}
      {error instanceof TypeError
        ? 'The gateway cannot be reached.'
        : error.name === 'TimeoutError'
          ? 'The gateway does not answer.'
          : error.message}
    </p>
    {error instanceof ApiError && (error.problem.problems?.length ?? 0) > 0 && (
      <ul>
        {error.problem.problems?.map(({ message, path }) => (
          <li key={`${String(path)} ${message}`}>
            {typeof path === 'string' && path !== '' && `${path}: `}
            {message}
          </li>
        ))}
      </ul>
    )}
  </Note>
);

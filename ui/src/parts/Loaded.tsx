import { Loader } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { Failure } from './Failure.tsx';
import { Note } from './Note.tsx';
import { clock } from './time.ts';

/** Hours, minutes and seconds of a time of day. */
const secondsEnd = 8;

/**
 * Shows the answer of a query; before it a spinner, and in place of it the failure. An answer that could not be read
 * again stays, with a note that says how old it is.
 */
export function Loaded<T>(props: {
  query: UseQueryResult<T>;
  doing: string;
  children: (data: T) => ReactNode;
}): ReactNode {
  const { query, doing, children } = props;
  const { data, error, dataUpdatedAt } = query;
  if (data === undefined)
    return error === null ? <Loader size="sm" aria-label={doing} /> : <Failure error={error} doing={doing} />;
  return (
    <>
      {error !== null && (
        <Note tone="bad">
          {error instanceof ApiError ? `${doing} failed: ${error.message};` : 'The gateway does not answer;'}{' '}
          data of {clock(dataUpdatedAt).slice(0, secondsEnd)}.
        </Note>
      )}
      {children(data)}
    </>
  );
}

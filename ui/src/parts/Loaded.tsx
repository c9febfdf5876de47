import { Loader } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './Failure.tsx';

/** Shows the answer of a query; before it a spinner, and in place of it the failure. */
export function Loaded<T>(props: {
  query: UseQueryResult<T>;
  doing: string;
  children: (data: T) => ReactNode;
}): ReactNode {
  const { query, doing, children } = props;
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <Failure error={query.error} doing={doing} />;
  return <Loader size="sm" aria-label={doing} />;
}

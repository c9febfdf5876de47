import { NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import { useRoutes } from '../api/queries.ts';
import type { RouteView } from '../api/types.ts';
import { Loaded } from './Loaded.tsx';
import { Note } from './Note.tsx';

/** Chooses an HTTP or MCP route; the choice is part of the address of the page. */
export const RouteChooser = ({ children }: { children: (route: RouteView) => ReactNode }) => (
  <Loaded query={useRoutes()} doing="Reading the routes">
    {(routes) => <Chooser routes={routes.filter(({ kind }) => kind !== 'tcp')}>{children}</Chooser>}
  </Loaded>
);

function Chooser(props: { routes: readonly RouteView[]; children: (route: RouteView) => ReactNode }) {
  const { routes, children } = props;
  const [query, setQuery] = useSearchParams();
  const route = routes.find(({ id }) => id === query.get('route')) ?? routes[0];
  if (route === undefined) return <Note>The configuration has no HTTP or MCP route.</Note>;
  return (
    <>
      <NativeSelect
        label="Route"
        maw={420}
        value={route.id}
        data={routes.map(({ id, kind }) => ({ value: id, label: `${id} (${kind})` }))}
        onChange={({ currentTarget }) => setQuery({ route: currentTarget.value }, { replace: true })}
      />
      {children(route)}
    </>
  );
}

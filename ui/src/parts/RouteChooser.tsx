import { NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import { useRoutes } from '../api/queries.ts';
import type { RouteView } from '../api/types.ts';
import { Loaded } from './Loaded.tsx';
import { Note } from './Note.tsx';
import { routeName } from './routeName.ts';

/** Chooses an HTTP or MCP route; the choice is part of the address of the page. */
export const RouteChooser = ({ children }: { children: (route: RouteView) => ReactNode }) => (
  <Loaded query={useRoutes()} doing="Reading the routes">
    {(routes) => <Chooser routes={routes.filter(({ kind }) => kind !== 'tcp')}>{children}</Chooser>}
  </Loaded>
);

/** Name, path and kind; routes that have them in common also show their listener. */
function labelOf(route: RouteView, routes: readonly RouteView[]): string {
  const parts = ({ id, path, kind }: RouteView): string =>
    [routeName(id), path ?? 'any path', kind].join(' · ');
  const own = parts(route);
  return routes.some((other) => other !== route && parts(other) === own)
    ? `${own} · ${route.listener} on port ${route.port ?? '–'}`
    : own;
}

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
        data={routes.map((each) => ({ value: each.id, label: labelOf(each, routes) }))}
        onChange={({ currentTarget }) => setQuery({ route: currentTarget.value }, { replace: true })}
      />
      {children(route)}
    </>
  );
}

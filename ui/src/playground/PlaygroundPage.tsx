import { Stack } from '@mantine/core';
import { useSession } from '../api/queries.ts';
import { Note } from '../parts/Note.tsx';
import { PageTitle } from '../parts/PageTitle.tsx';
import { RouteChooser } from '../parts/RouteChooser.tsx';
import { HttpPlayground } from './HttpPlayground.tsx';
import { McpPlayground } from './McpPlayground.tsx';

/** Uses a route as a client does: all policies of the route apply. */
export function PlaygroundPage() {
  const isOperator = useSession().data?.role === 'operator';
  return (
    <Stack gap="md">
      <PageTitle about="Use a route as a client does. All policies of the route apply.">Playground</PageTitle>
      {isOperator ? (
        <RouteChooser>
          {(route) =>
            route.kind === 'mcp' ? (
              <McpPlayground key={route.id} route={route} />
            ) : (
              <HttpPlayground key={route.id} route={route} />
            )
          }
        </RouteChooser>
      ) : (
        <Note>Only an operator may send requests. This session is that of a viewer.</Note>
      )}
    </Stack>
  );
}

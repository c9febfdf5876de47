import { Button, Group, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { RouteView } from '../api/types.ts';
import { credentialNames } from '../connect/credentials.ts';
import { Failure } from '../parts/Failure.tsx';
import { routeName } from '../parts/routeName.ts';
import { listTools } from './listTools.ts';

/** Asks an MCP route for its tools, as a caller of the route. */
export function ToolLister({
  route,
  onTools,
}: {
  route: RouteView;
  onTools: (names: readonly string[]) => void;
}) {
  const [credential, setCredential] = useState('');
  const list = useMutation({
    mutationFn: () => listTools(route, credential.trim()),
    onSuccess: onTools,
  });
  return (
    <>
      <Group align="end">
        {route.authentication !== null && (
          <PasswordInput
            label={`${credentialNames[route.authentication.credential]} of a caller`}
            description="A caller sees the tools that the rules allow. The page keeps it in memory only."
            w={460}
            maw="100%"
            autoComplete="off"
            value={credential}
            onChange={({ currentTarget }) => setCredential(currentTarget.value)}
          />
        )}
        <Button variant="default" loading={list.isPending} onClick={() => list.mutate()}>
          List the tools of {routeName(route.id)}
        </Button>
      </Group>
      {list.error !== null && <Failure error={list.error} doing="Listing the tools" />}
      {list.data !== undefined && (
        <p className="quiet" role="status">
          The route lists {list.data.length} {list.data.length === 1 ? 'tool' : 'tools'}.
        </p>
      )}
    </>
  );
}

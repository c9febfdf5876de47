import { Button, Group, PasswordInput, SimpleGrid, Stack, Tabs } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { RouteView } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { ItemPanel, kinds } from './ItemPanels.tsx';
import { McpSession, type Entry } from './mcpSession.ts';
import { Protocol } from './Protocol.tsx';

/** A session that the page has opened. */
interface Opened {
  readonly id: string;
  readonly session: McpSession;
}

/** Logs in with a token, and uses the items of an MCP route. */
export function McpPlayground({ route }: { route: RouteView }) {
  const [token, setToken] = useState('');
  const [opened, setOpened] = useState<Opened>();
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const open = useMutation({
    mutationFn: async () => {
      const session = new McpSession(route.id, route.path ?? '/', token.trim());
      session.onEntry = () => setEntries(session.entries);
      await session.open();
      return { id: crypto.randomUUID(), session };
    },
    onSuccess: setOpened,
  });
  useEffect(() => {
    if (opened === undefined) return undefined;
    // The page goes on without waiting; the gateway ends idle sessions by itself.
    return () => void opened.session.close().catch(() => undefined);
  }, [opened]);
  return (
    <Stack gap="sm">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setOpened(undefined);
          open.mutate();
        }}
      >
        <Group align="end">
          <PasswordInput
            label="Token"
            description="The page keeps it in memory only."
            w={320}
            autoComplete="off"
            value={token}
            onChange={({ currentTarget }) => setToken(currentTarget.value)}
          />
          <Button type="submit" loading={open.isPending}>
            {opened === undefined ? 'Open a session' : 'Open a new session'}
          </Button>
        </Group>
      </form>
      {open.error !== null && <Failure error={open.error} doing="Opening the session" />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <div>{opened !== undefined && <Items opened={opened} />}</div>
        {entries.length > 0 && <Protocol entries={entries} />}
      </SimpleGrid>
    </Stack>
  );
}

const Items = ({ opened: { id, session } }: { opened: Opened }) => (
  <Tabs defaultValue="Tools" key={id}>
    <Tabs.List mb="sm">
      {Object.keys(kinds).map((name) => (
        <Tabs.Tab key={name} value={name}>
          {name}
        </Tabs.Tab>
      ))}
    </Tabs.List>
    {Object.entries(kinds).map(([name, kind]) => (
      <Tabs.Panel key={name} value={name}>
        <ItemPanel session={session} kind={kind} id={id} />
      </Tabs.Panel>
    ))}
  </Tabs>
);

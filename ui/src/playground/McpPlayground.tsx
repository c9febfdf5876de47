import { Button, Group, NativeSelect, SimpleGrid, Stack, Tabs } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { queryClient } from '../api/queries.ts';
import type { RouteView } from '../api/types.ts';
import { credentialHeader } from '../connect/credentials.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { headersIn, type HeaderField } from './extraHeaders.ts';
import { HeaderFields } from './HeaderFields.tsx';
import { ItemPanel, itemsKey, kinds, type KindName } from './ItemPanels.tsx';
import { TokenFields } from './login/TokenFields.tsx';
import { McpSession, type SessionState } from './mcpSession.ts';
import { McpError } from './mcpTypes.ts';
import { Protocol } from './Protocol.tsx';
import { QuestionForm } from './QuestionForm.tsx';
import { handedReplay, type Replay } from './replay.ts';
import { revisions, type Revision } from './revisions.ts';

/** A session that the page has opened. */
interface Opened {
  readonly id: string;
  readonly session: McpSession;
}

const nothing: SessionState = { entries: [], questions: [] };

/** Logs in with a token, and uses the items of an MCP route. */
export function McpPlayground({ route }: { route: RouteView }) {
  const [replay] = useState(() => handedReplay(route.id));
  const [token, setToken] = useState('');
  const [fields, setFields] = useState<readonly HeaderField[]>([]);
  const [revision, setRevision] = useState<Revision>('2025-11-25');
  const [opened, setOpened] = useState<Opened>();
  const [state, setState] = useState(nothing);
  const open = useMutation({
    mutationFn: async () => {
      const headers = headersIn(fields, route);
      const id = crypto.randomUUID();
      const session = new McpSession({
        route: route.id,
        path: route.path ?? '/',
        credential: credentialHeader(route, token.trim()),
        headers,
        revision,
        onChange: setState,
        onItems: () => void queryClient.invalidateQueries({ queryKey: itemsKey(id) }),
      });
      await session.open();
      return { id, session };
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
      {replay?.item !== undefined && <ReplayNote replay={replay} />}
      {route.authentication !== null && (
        <TokenFields
          route={route}
          token={token}
          onToken={setToken}
          isUsed={opened !== undefined}
          needsLogin={open.error instanceof McpError && open.error.status === 401}
        />
      )}
      <HeaderFields fields={fields} onChange={setFields} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setOpened(undefined);
          open.mutate();
        }}
      >
        <Group align="end">
          <NativeSelect
            label="Revision of MCP"
            data={[...revisions]}
            value={revision}
            onChange={({ currentTarget }) => setRevision(currentTarget.value as Revision)}
          />
          <Button type="submit" loading={open.isPending}>
            {opened === undefined ? 'Open a session' : 'Open a new session'}
          </Button>
        </Group>
      </form>
      {open.error !== null && <Failure error={open.error} doing="Opening the session" />}
      {state.questions.map((question) => (
        <QuestionForm key={question.id} question={question} />
      ))}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <div>{opened !== undefined && <Items opened={opened} replay={replay} />}</div>
        {state.entries.length > 0 && <Protocol entries={state.entries} />}
      </SimpleGrid>
    </Stack>
  );
}

function ReplayNote({ replay: { item, arguments: args, hasValues } }: { replay: Replay }) {
  const names = Object.keys(args ?? {});
  return (
    <Note tone="info">
      Replay of <b>{item?.name}</b>. Open a session as the caller.{' '}
      {names.length === 0
        ? 'No arguments were recorded.'
        : hasValues
          ? 'The form has the recorded values. Hidden ones stand as they were recorded.'
          : `Only the names of its arguments were recorded: ${names.join(', ')}.`}
    </Note>
  );
}

const Items = ({ opened: { id, session }, replay }: { opened: Opened; replay: Replay | undefined }) => (
  <Tabs defaultValue={replay?.item?.kind ?? 'Tools'} key={id}>
    <Tabs.List mb="sm">
      {Object.keys(kinds).map((name) => (
        <Tabs.Tab key={name} value={name}>
          {name}
        </Tabs.Tab>
      ))}
    </Tabs.List>
    {(Object.keys(kinds) as KindName[]).map((name) => (
      <Tabs.Panel key={name} value={name}>
        <ItemPanel
          session={session}
          kind={kinds[name]}
          id={id}
          replay={replay?.item?.kind === name ? replay : undefined}
        />
      </Tabs.Panel>
    ))}
  </Tabs>
);

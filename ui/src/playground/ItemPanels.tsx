import { Button, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Failure } from '../parts/Failure.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { ArgumentForm } from './ArgumentForm.tsx';
import { argumentsOf, textsFor, type FormValues } from './arguments.ts';
import type { McpSession } from './mcpSession.ts';
import type { InputSchema, Prompt, Resource, Tool } from './mcpTypes.ts';
import type { Replay } from './replay.ts';
import { ResultView } from './ResultView.tsx';

/** An item that can be chosen, in the form that all kinds share. */
interface Item {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: InputSchema;
  /** Sends the request of the item. */
  readonly use: (args: Record<string, unknown>) => Promise<unknown>;
}

interface Kind {
  readonly noun: string;
  readonly verb: string;
  /** Sends the request of an item that the route does not list. */
  readonly useUnlisted: (
    session: McpSession,
    name: string,
    args: Record<string, unknown>,
  ) => Promise<unknown>;
  readonly items: (session: McpSession) => Promise<readonly Item[]>;
}

export type KindName = 'Tools' | 'Prompts' | 'Resources';

/** The kinds of items, in the order of their tabs. */
export const kinds: Readonly<Record<KindName, Kind>> = {
  Tools: {
    noun: 'tool',
    verb: 'Call',
    useUnlisted: (session, name, args) => session.request('tools/call', { name, arguments: args }),
    items: async (session) =>
      (await session.list<Tool>('tools/list', 'tools')).map(({ name, description, inputSchema }) => ({
        name,
        description,
        schema: inputSchema,
        use: (args) => session.request('tools/call', { name, arguments: args }),
      })),
  },
  Prompts: {
    noun: 'prompt',
    verb: 'Get',
    useUnlisted: (session, name, args) => session.request('prompts/get', { name, arguments: args }),
    items: async (session) =>
      (await session.list<Prompt>('prompts/list', 'prompts')).map((prompt) => ({
        name: prompt.name,
        description: prompt.description,
        schema: schemaOf(prompt),
        use: (args) => session.request('prompts/get', { name: prompt.name, arguments: args }),
      })),
  },
  Resources: {
    noun: 'resource',
    verb: 'Read',
    useUnlisted: (session, uri) => session.request('resources/read', { uri }),
    items: async (session) =>
      (await session.list<Resource>('resources/list', 'resources')).map(({ uri, name, description }) => ({
        name: uri,
        description: description ?? name,
        schema: {},
        use: () => session.request('resources/read', { uri }),
      })),
  },
};

const schemaOf = ({ arguments: all = [] }: Prompt): InputSchema => ({
  required: all.filter(({ required }) => required === true).map(({ name }) => name),
  properties: Object.fromEntries(
    all.map(({ name, description }) => [
      name,
      { type: 'string', ...(description === undefined ? {} : { description }) },
    ]),
  ),
});

/** The cache's name of the items of a session. */
export const itemsKey = (id: string): readonly string[] => ['playground', id];

/** The items of a kind: choose one, fill its form, send it. @param props.replay chooses an item and fills its form */
export function ItemPanel(props: {
  session: McpSession;
  kind: Kind;
  id: string;
  replay: Replay | undefined;
}) {
  const { session, kind, id, replay } = props;
  const items = useQuery({
    queryKey: [...itemsKey(id), kind.noun],
    queryFn: () => kind.items(session),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return (
    <Loaded query={items} doing={`Listing the ${kind.noun}s`}>
      {(list) => <ItemForm items={list} session={session} kind={kind} replay={replay} />}
    </Loaded>
  );
}

/** Stands for an item that the list does not have. No item has an empty name. */
const unlisted = '';

function ItemForm(props: {
  items: readonly Item[];
  session: McpSession;
  kind: Kind;
  replay: Replay | undefined;
}) {
  const { items, session, kind, replay } = props;
  const recorded = replay?.item?.name;
  const [name, setName] = useState(() =>
    recorded === undefined
      ? (items[0]?.name ?? unlisted)
      : (items.find((each) => each.name === recorded)?.name ?? unlisted),
  );
  const item = items.find((each) => each.name === name);
  return (
    <Stack gap="sm">
      <NativeSelect
        label={`Choose a ${kind.noun}`}
        value={item === undefined ? unlisted : name}
        data={[
          ...items.map((each) => each.name),
          { value: unlisted, label: `a ${kind.noun} that the route does not list` },
        ]}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      {item === undefined ? (
        <UnlistedForm session={session} kind={kind} replay={replay} />
      ) : (
        <ListedForm key={name} item={item} kind={kind} replay={recorded === name ? replay : undefined} />
      )}
    </Stack>
  );
}

function ListedForm({ item, kind, replay }: { item: Item; kind: Kind; replay: Replay | undefined }) {
  // Names alone say nothing about values.
  const [values, setValues] = useState<FormValues>(() =>
    replay?.hasValues === true ? textsFor(item.schema, replay.arguments ?? {}) : {},
  );
  return (
    <UseForm kind={kind} name={item.name} use={async () => await item.use(argumentsOf(item.schema, values))}>
      {item.description !== undefined && <p className="quiet wrap">{item.description}</p>}
      <ArgumentForm schema={item.schema} values={values} onChange={setValues} />
    </UseForm>
  );
}

/** A client that knows a name can send it, whatever it was shown. */
function UnlistedForm(props: { session: McpSession; kind: Kind; replay: Replay | undefined }) {
  const { session, kind, replay } = props;
  const [name, setName] = useState(replay?.item?.name ?? '');
  const [text, setText] = useState(() => JSON.stringify(replay?.arguments ?? {}, null, 2));
  return (
    <UseForm kind={kind} name={name} use={async () => await kind.useUnlisted(session, name, objectIn(text))}>
      <TextInput
        label={`Name of the ${kind.noun}`}
        required
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <Textarea
        label="Arguments"
        classNames={{ input: 'mono' }}
        autosize
        minRows={2}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </UseForm>
  );
}

/** @throws Error for a text that is no JSON object */
function objectIn(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('Arguments must be a JSON object.');
  return value as Record<string, unknown>;
}

/** A form with its button, and the result of the request. */
function UseForm(props: { kind: Kind; name: string; use: () => Promise<unknown>; children: ReactNode }) {
  const { kind, name, children } = props;
  const use = useMutation({ mutationFn: props.use });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        use.mutate();
      }}
    >
      <Stack gap="sm">
        {children}
        <div>
          <Button type="submit" loading={use.isPending}>
            {kind.verb} {name}
          </Button>
        </div>
        {use.error !== null && <Failure error={use.error} doing={`The ${kind.noun}`} />}
        {use.isSuccess && <ResultView result={use.data} />}
      </Stack>
    </form>
  );
}

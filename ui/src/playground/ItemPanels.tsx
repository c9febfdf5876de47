import { Button, NativeSelect, Stack } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../parts/Failure.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { ArgumentForm } from './ArgumentForm.tsx';
import { argumentsOf, type FormValues } from './arguments.ts';
import type { InputSchema, McpSession, Prompt, Resource, Tool } from './mcpSession.ts';
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
  readonly items: (session: McpSession) => Promise<readonly Item[]>;
}

/** The kinds of items, in the order of their tabs. */
export const kinds: Readonly<Record<'Tools' | 'Prompts' | 'Resources', Kind>> = {
  Tools: {
    noun: 'tool',
    verb: 'Call',
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

/** The items of a kind: choose one, fill its form, send it. */
export function ItemPanel({ session, kind, id }: { session: McpSession; kind: Kind; id: string }) {
  const items = useQuery({
    queryKey: ['playground', id, kind.noun],
    queryFn: () => kind.items(session),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return (
    <Loaded query={items} doing={`Listing the ${kind.noun}s`}>
      {(list) =>
        list.length === 0 ? (
          <p className="quiet">The route shows no {kind.noun} to this caller.</p>
        ) : (
          <ItemForm items={list} kind={kind} />
        )
      }
    </Loaded>
  );
}

function ItemForm({ items, kind }: { items: readonly Item[]; kind: Kind }) {
  const [name, setName] = useState(items[0]?.name ?? '');
  const [values, setValues] = useState<FormValues>({});
  const item = items.find((each) => each.name === name);
  const use = useMutation({
    mutationFn: async () => await item?.use(argumentsOf(item.schema, values)),
  });
  if (item === undefined) return null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        use.mutate();
      }}
    >
      <Stack gap="sm">
        <NativeSelect
          label={`Choose a ${kind.noun}`}
          value={name}
          data={items.map((each) => each.name)}
          onChange={({ currentTarget }) => {
            setName(currentTarget.value);
            setValues({});
            use.reset();
          }}
        />
        {item.description !== undefined && <p className="quiet wrap">{item.description}</p>}
        <ArgumentForm schema={item.schema} values={values} onChange={setValues} />
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

import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState, type ReactNode } from 'react';
import { ErrorBoundary } from '../parts/ErrorBoundary.tsx';
import { Failure } from '../parts/Failure.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { ArgumentForm } from './ArgumentForm.tsx';
import { argumentsOf, textsFor, type FormValues } from './arguments.ts';
import type { McpSession, Progress, Watch } from './mcpSession.ts';
import { McpError, type InputSchema, type Prompt, type ResourceTemplate, type Tool } from './mcpTypes.ts';
import type { Replay } from './replay.ts';
import { ResultView } from './ResultView.tsx';
import { promptIn, resourceIn, templateIn, textIn, toolIn } from './serverData.ts';
import { Tag } from '../parts/Tag.tsx';
import { expand, schemaOfTemplate } from './uriTemplate.ts';

/** An item that can be chosen, in the form that all kinds share. */
interface Item {
  readonly name: string;
  readonly description: string | undefined;
  /** The title, and what the server says of its effects. */
  readonly about?: readonly string[];
  readonly schema: InputSchema;
  /** Sends the request of the item. */
  readonly use: (args: Record<string, unknown>, watch: Watch) => Promise<unknown>;
}

interface Kind {
  readonly noun: string;
  readonly verb: string;
  /** Sends the request of an item that the route does not list. */
  readonly useUnlisted: (
    session: McpSession,
    name: string,
    args: Record<string, unknown>,
    watch: Watch,
  ) => Promise<unknown>;
  readonly items: (session: McpSession) => Promise<readonly Item[]>;
}

export type KindName = 'Tools' | 'Prompts' | 'Resources';

/** The kinds of items, in the order of their tabs. */
export const kinds: Readonly<Record<KindName, Kind>> = {
  Tools: {
    noun: 'tool',
    verb: 'Call',
    useUnlisted: (session, name, args, watch) =>
      session.request('tools/call', { name, arguments: args }, watch),
    items: async (session) =>
      (await session.list('tools/list', 'tools', toolIn)).map((tool) => ({
        name: tool.name,
        description: tool.description,
        about: aboutTool(tool),
        schema: tool.inputSchema,
        use: (args, watch) => session.request('tools/call', { name: tool.name, arguments: args }, watch),
      })),
  },
  Prompts: {
    noun: 'prompt',
    verb: 'Get',
    useUnlisted: (session, name, args, watch) =>
      session.request('prompts/get', { name, arguments: args }, watch),
    items: async (session) =>
      (await session.list('prompts/list', 'prompts', promptIn)).map((prompt) => ({
        name: prompt.name,
        description: prompt.description,
        schema: schemaOf(prompt),
        use: (args, watch) => session.request('prompts/get', { name: prompt.name, arguments: args }, watch),
      })),
  },
  Resources: {
    noun: 'resource',
    verb: 'Read',
    useUnlisted: (session, uri, _, watch) => session.request('resources/read', { uri }, watch),
    items: async (session) => [
      ...(await session.list('resources/list', 'resources', resourceIn)).map(
        ({ uri, name, description }) => ({
          name: uri,
          description: description ?? name,
          schema: {},
          use: (_: object, watch: Watch) => session.request('resources/read', { uri }, watch),
        }),
      ),
      ...(await templatesOf(session)).map(({ uriTemplate, name, description }) => ({
        name: uriTemplate,
        description: description ?? name,
        schema: schemaOfTemplate(uriTemplate),
        use: (args: Readonly<Record<string, unknown>>, watch: Watch) =>
          session.request('resources/read', { uri: expand(uriTemplate, args) }, watch),
      })),
    ],
  },
};

/** A server with resources may have no templates, and refuse the method. */
async function templatesOf(session: McpSession): Promise<readonly ResourceTemplate[]> {
  try {
    return await session.list('resources/templates/list', 'resourceTemplates', templateIn);
  } catch (error) {
    if (error instanceof McpError) return [];
    throw error;
  }
}

/** The title of a tool, and its hints: nobody checks them. */
const aboutTool = ({ title, annotations = {} }: Tool): readonly string[] => [
  ...(title === undefined ? [] : [title]),
  ...Object.entries(annotations).map(([name, value]) => `${name}: ${textIn(value) ?? ''}`),
];

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
        <ErrorBoundary key={name} what={`the ${kind.noun} ${name}`}>
          <ListedForm item={item} kind={kind} replay={recorded === name ? replay : undefined} />
        </ErrorBoundary>
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
    <UseForm
      kind={kind}
      name={item.name}
      use={async (watch) => await item.use(argumentsOf(item.schema, values), watch)}
    >
      {item.about !== undefined && item.about.length > 0 && (
        <Group gap="xs">
          {item.about.map((text) => (
            <Tag key={text} tone="plain">
              {text}
            </Tag>
          ))}
        </Group>
      )}
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
    <UseForm
      kind={kind}
      name={name}
      use={async (watch) => await kind.useUnlisted(session, name, objectIn(text), watch)}
    >
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
function UseForm(props: {
  kind: Kind;
  name: string;
  use: (watch: Watch) => Promise<unknown>;
  children: ReactNode;
}) {
  const { kind, name, children } = props;
  const [progress, setProgress] = useState<Progress>();
  const running = useRef<AbortController>(undefined);
  const use = useMutation({
    mutationFn: async () => {
      const controller = new AbortController();
      running.current = controller;
      setProgress(undefined);
      return await props.use({ signal: controller.signal, onProgress: setProgress });
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        use.mutate();
      }}
    >
      <Stack gap="sm">
        {children}
        <Group>
          <Button type="submit" loading={use.isPending}>
            {kind.verb} {name}
          </Button>
          {use.isPending && (
            <Button variant="default" onClick={() => running.current?.abort()}>
              Cancel
            </Button>
          )}
        </Group>
        {use.isPending && progress !== undefined && <ProgressLine progress={progress} />}
        {use.error !== null && <Failure error={use.error} doing={`The ${kind.noun}`} />}
        {use.isSuccess && (
          <ErrorBoundary key={use.submittedAt} what="the result">
            <ResultView result={use.data} />
          </ErrorBoundary>
        )}
      </Stack>
    </form>
  );
}

const ProgressLine = ({ progress: { progress, total, message } }: { progress: Progress }) => (
  <p role="status">
    <progress aria-label="Progress" value={progress} {...(total !== undefined && { max: total })} />{' '}
    {total === undefined ? progress : `${progress} of ${total}`}
    {message !== undefined && `: ${message}`}
  </p>
);

import { Button, Group, NativeSelect, Stack, Textarea, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useConfigText } from '../api/configuration.ts';
import { useRoutes } from '../api/queries.ts';
import { evaluate, explain, type WrittenRequest } from '../api/rules.ts';
import type { CelAnswer, RouteView } from '../api/types.ts';
import { Editor } from '../editor/Editor.tsx';
import { Failure } from '../parts/Failure.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';
import { PageTitle } from '../parts/PageTitle.tsx';
import { DecisionTree } from '../parts/DecisionTree.tsx';
import { cel } from './celLanguage.ts';
import { claimsOf } from './claimsOf.ts';
import { Matrix } from './Matrix.tsx';
import { exampleFor } from './requestText.ts';
import { rulesInUse, type RuleInUse } from './rulesInUse.ts';

/** Explains a request, and evaluates expressions about it. */
export const RulesPage = () => (
  <Stack gap="md">
    <PageTitle about="Try a request and an expression on the configuration in use. Nothing is sent to a server.">
      Rules
    </PageTitle>
    <Loaded query={useRoutes()} doing="Reading the routes">
      {(routes) => <Trial routes={routes} />}
    </Loaded>
  </Stack>
);

/** A request that another page handed over. */
function handedRequest(): string | undefined {
  const state: unknown = history.state;
  if (typeof state !== 'object' || state === null || !('request' in state)) return undefined;
  return typeof state.request === 'string' ? state.request : undefined;
}

function Trial({ routes }: { routes: readonly RouteView[] }) {
  const [request, setRequest] = useState(
    () => handedRequest() ?? exampleFor(routes.find(({ kind }) => kind === 'mcp') ?? routes[0]),
  );
  const [claims, setClaims] = useState('');
  const [expression, setExpression] = useState('mcp.tool.name == "echo" && "mcp-users" in jwt.groups');
  const [baseline, setBaseline] = useState<RuleInUse>();
  const language = useMemo(() => cel(), []);
  const written = (): WrittenRequest => {
    const given = claimsOf(claims);
    return { request, ...(given === undefined ? {} : { claims: given }) };
  };
  const why = useMutation({ mutationFn: async () => await explain(written()) });
  const value = useMutation({ mutationFn: async () => await evaluate(expression, written()) });
  return (
    <>
      <Group align="stretch" grow preventGrowOverflow={false}>
        <Textarea
          label="Request"
          description="As on the wire: request line, headers, an empty line, body."
          classNames={{ input: 'mono' }}
          autosize
          minRows={7}
          maxRows={16}
          miw={280}
          value={request}
          onChange={({ currentTarget }) => setRequest(currentTarget.value)}
        />
        <Textarea
          label="Claims"
          description="JSON, in place of a token. Blank: the caller has no token."
          classNames={{ input: 'mono' }}
          autosize
          minRows={7}
          maxRows={16}
          miw={280}
          placeholder='{"sub": "alice", "groups": ["mcp-users"]}'
          value={claims}
          onChange={({ currentTarget }) => setClaims(currentTarget.value)}
        />
      </Group>
      <Group>
        <Button loading={why.isPending} onClick={() => why.mutate()}>
          Explain the request
        </Button>
      </Group>
      {why.error !== null && <Failure error={why.error} doing="Explaining the request" />}
      {why.data !== undefined && (
        <section className="panel" aria-label="Explanation">
          <DecisionTree decision={why.data} />
        </section>
      )}
      <Title order={2} size="h4">
        Expression
      </Title>
      <RuleChooser
        chosen={baseline}
        onChoose={(rule) => {
          setBaseline(rule);
          if (rule !== undefined) setExpression(rule.expression);
        }}
      />
      <Editor
        label="Expression (CEL)"
        value={expression}
        onChange={setExpression}
        extensions={language}
        height="7rem"
      />
      <Group>
        <Button loading={value.isPending} onClick={() => value.mutate()}>
          Evaluate
        </Button>
      </Group>
      {value.error !== null && <Failure error={value.error} doing="Evaluating the expression" />}
      {value.data !== undefined && <Value answer={value.data} />}
      <Title order={2} size="h4">
        Callers and tools
      </Title>
      <Matrix expression={expression} baseline={baseline?.expression} request={request} />
    </>
  );
}

/** Chooses a rule of the configuration: the matrix compares its edit with it. */
function RuleChooser(props: {
  chosen: RuleInUse | undefined;
  onChoose: (rule: RuleInUse | undefined) => void;
}) {
  const { chosen, onChoose } = props;
  const config = useConfigText();
  const rules = useMemo(() => rulesInUse(config.data?.effective), [config.data]);
  return (
    <NativeSelect
      label="Rule in use"
      description="Edit its expression below, and see in the matrix what the edit changes."
      maw={560}
      value={chosen?.id ?? ''}
      data={[
        { value: '', label: 'none: a new expression' },
        ...rules.map(({ id, label }) => ({ value: id, label })),
      ]}
      onChange={({ currentTarget }) => onChoose(rules.find(({ id }) => id === currentTarget.value))}
    />
  );
}

const Value = ({ answer }: { answer: CelAnswer }) =>
  'error' in answer ? (
    <Note tone="bad">
      <p className="mono">
        {answer.place !== undefined && `Line ${answer.place.line}, column ${answer.place.column}: `}
        {answer.error}
      </p>
    </Note>
  ) : (
    <div role="status" aria-label="Value">
      <pre className="lines">
        {JSON.stringify(answer.value, null, 2)} ({answer.type})
      </pre>
    </div>
  );

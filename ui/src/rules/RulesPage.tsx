import { Button, Group, NativeSelect, Stack, Textarea, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useRoutes, useSession } from '../api/queries.ts';
import { evaluate, explain, useRules, type WrittenRequest } from '../api/rules.ts';
import type { CelAnswer, RouteView, RuleInUse } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';
import { PageTitle } from '../parts/PageTitle.tsx';
import { DecisionTree } from '../parts/DecisionTree.tsx';
import { claimsOf } from './claimsOf.ts';
import { ExpressionEditor } from './ExpressionEditor.tsx';
import { Matrix } from './Matrix.tsx';
import { exampleFor } from './requestText.ts';
import { RuleList } from './RuleList.tsx';
import { labelOf } from './ruleTexts.ts';

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

interface Handed {
  readonly request: string;
  /** Id of the route of the request. */
  readonly route: string;
}

/** A request that another page handed over. */
function handedRequest(): Handed | undefined {
  const state: unknown = history.state;
  if (typeof state !== 'object' || state === null || !('request' in state)) return undefined;
  return state as Handed;
}

function Trial({ routes }: { routes: readonly RouteView[] }) {
  const [request, setRequest] = useState(
    () => handedRequest()?.request ?? exampleFor(routes.find(({ kind }) => kind === 'mcp') ?? routes[0]),
  );
  /** The route whose request stands in the field. */
  const [route, setRoute] = useState(
    () => handedRequest()?.route ?? (routes.find(({ kind }) => kind === 'mcp') ?? routes[0])?.id,
  );
  const [claims, setClaims] = useState('');
  const [expression, setExpression] = useState('');
  const [baseline, setBaseline] = useState<RuleInUse>();
  const written = (): WrittenRequest => {
    const given = claimsOf(claims, 'Claims');
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
          placeholder='{"sub": …}'
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
          if (rule === undefined) return;
          setExpression(rule.expression);
          const owner = routes.find(({ id }) => id === rule.route?.id);
          // The matrix judges calls of the route of the rule.
          if (owner !== undefined && owner.id !== route) {
            setRoute(owner.id);
            setRequest(exampleFor(owner));
          }
        }}
      />
      <ExpressionEditor value={expression} onChange={setExpression} claims={claims} request={request} />
      <Group>
        <Button loading={value.isPending} disabled={expression.trim() === ''} onClick={() => value.mutate()}>
          Evaluate
        </Button>
        {baseline !== undefined && <TakeOver rule={baseline} expression={expression} />}
      </Group>
      {value.error !== null && <Failure error={value.error} doing="Evaluating the expression" />}
      {value.data !== undefined && <Value answer={value.data} />}
      <Title order={2} size="h4">
        Callers and tools
      </Title>
      <Matrix
        expression={expression}
        rule={baseline}
        request={request}
        route={routes.find(({ id }) => id === route)}
      />
    </>
  );
}

const idOf = ({ bind, listener, route, place }: RuleInUse): string =>
  [bind, listener, route?.id ?? '', place].join(' ');

/** Chooses a rule of the configuration: the matrix compares its edit with it. */
function RuleChooser(props: {
  chosen: RuleInUse | undefined;
  onChoose: (rule: RuleInUse | undefined) => void;
}) {
  const { chosen, onChoose } = props;
  const rules = useRules().data ?? [];
  return (
    <>
      <NativeSelect
        label="Rule in use"
        description="Edit its expression below, and see in the matrix what the edit changes."
        maw={720}
        value={chosen === undefined ? '' : idOf(chosen)}
        data={[
          { value: '', label: 'none: a new expression' },
          ...rules.map((rule) => ({ value: idOf(rule), label: labelOf(rule) })),
        ]}
        onChange={({ currentTarget }) => onChoose(rules.find((rule) => idOf(rule) === currentTarget.value))}
      />
      <RuleList rules={rules} />
    </>
  );
}

/** Takes a rule to the page Configuration, with its new expression. */
function TakeOver({ rule, expression }: { rule: RuleInUse; expression: string }) {
  const [, navigate] = useLocation();
  const isOperator = useSession().data?.role === 'operator';
  const edit = useMutation({
    mutationFn: async () => {
      // The reader of YAML is a part of that page.
      const { editRule } = await import('../configuration/ruleEdit.ts');
      return await editRule(rule, expression, isOperator);
    },
    onSuccess: (handed) => navigate('/configuration', { state: { rule: handed } }),
  });
  return (
    <>
      <Button variant="default" loading={edit.isPending} onClick={() => edit.mutate()}>
        Edit in Configuration
      </Button>
      <span className="quiet wrap">
        {rule.policy} in {rule.file}, line {rule.line}: <span className="mono">{rule.place}</span>
      </span>
      {edit.error !== null && <Failure error={edit.error} doing="Reading the configuration" />}
    </>
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

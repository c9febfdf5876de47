import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { evaluate, explain, judge } from '../api/rules.ts';
import { useSession } from '../api/queries.ts';
import type { Decision, RouteView, RuleInUse } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag, type Tone } from '../parts/Tag.tsx';
import { AddSelect } from './AddSelect.tsx';
import { claimsOf } from './claimsOf.ts';
import { newestRecords, recentCalls, useRecentRecords } from './recentCallers.ts';
import { withTool } from './requestText.ts';
import { ToolLister } from './ToolLister.tsx';

/** A caller of the matrix. */
interface Caller {
  readonly id: number;
  readonly claims: string;
}

/** Tools that are taken with recent callers. */
const mostTaken = 10;
/** Cells of a matrix; each is a request to the gateway. */
const mostCells = 200;

/** The verdict about a call, or the value of a new expression. */
interface Verdict {
  readonly text: string;
  readonly tone: Tone;
  /** The rule, or the fault. */
  readonly because?: string | undefined;
}

interface Cell {
  readonly after: Verdict;
  /** The verdict with the rule in use; absent without one, and where it is the same. */
  readonly before?: Verdict;
}

interface Row {
  readonly claims: string;
  readonly cells: readonly Cell[];
}

/**
 * Shows which callers could use which tools: with a changed rule among all rules of its route, before it is saved, or
 * by a new expression alone.
 * @param props.rule the rule in use that the expression would replace
 * @param props.route the route of the request
 */
export function Matrix(props: {
  expression: string;
  rule: RuleInUse | undefined;
  request: string;
  route: RouteView | undefined;
}) {
  const { expression, rule, request, route } = props;
  const [callers, setCallers] = useState<readonly Caller[]>([{ id: 1, claims: '' }]);
  const [toolText, setToolText] = useState('');
  const tools = [...new Set(toolText.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const fill = useMutation({ mutationFn: () => rowsOf({ expression, rule, request }, callers, tools) });
  const isOperator = useSession().data?.role === 'operator';
  const [listed, setListed] = useState<readonly string[]>([]);
  const records = useRecentRecords();
  const known = recentCalls(records.data ?? [], route?.id);
  const reading = records.isPending ? 'reading recent requests…' : undefined;
  const recent = useMutation({
    mutationFn: async () => recentCalls(await newestRecords(), route?.id),
    onSuccess: ({ callers: found, tools: used }) => {
      if (found.length > 0)
        setCallers(found.map((claims, at) => ({ id: at + 1, claims: JSON.stringify(claims) })));
      setToolText((text) => (text.trim() === '' ? used.slice(0, mostTaken).join(', ') : text));
      fill.reset();
    },
  });
  const add = (claims: string): void => {
    setCallers([...callers, { id: Math.max(0, ...callers.map(({ id }) => id)) + 1, claims }]);
    fill.reset();
  };
  const change = (id: number, claims: string): void => {
    setCallers(callers.map((caller) => (caller.id === id ? { id, claims } : caller)));
    fill.reset();
  };
  return (
    <Stack gap="xs" component="section" aria-label="Matrix">
      <p className="quiet flat">
        {rule === undefined
          ? 'The value of the expression for each caller and tool. Choose a rule in use to see what all rules of its route decide.'
          : 'The verdict of all rules of the route about a call, with the edited rule. A cell with two verdicts is one that the edit changes.'}{' '}
        The request above is the tool call.
      </p>
      {callers.map(({ id, claims }, at) => (
        <Group key={id} align="end" wrap="nowrap">
          <TextInput
            flex={1}
            label={`Claims of caller ${at + 1}`}
            classNames={{ input: 'mono' }}
            placeholder="JSON. Blank: the caller has no token."
            value={claims}
            onChange={({ currentTarget }) => change(id, currentTarget.value)}
          />
          <Button
            variant="default"
            aria-label={`Remove caller ${at + 1}`}
            disabled={callers.length === 1}
            onClick={() => setCallers(callers.filter((caller) => caller.id !== id))}
          >
            Remove
          </Button>
        </Group>
      ))}
      <TextInput
        label="Tools"
        description="Names, separated by commas."
        value={toolText}
        onChange={({ currentTarget }) => {
          setToolText(currentTarget.value);
          fill.reset();
        }}
      />
      <Group align="end">
        <AddSelect
          label="Add a tool"
          empty={reading ?? 'no further tool is known'}
          data={[...new Set([...listed, ...known.tools])]
            .filter((name) => !tools.includes(name))
            .map((name) => ({ value: name, label: name }))}
          onAdd={(name) => {
            setToolText([...tools, name].join(', '));
            fill.reset();
          }}
        />
        <AddSelect
          label="Add a recent caller"
          empty={reading ?? 'no kept request has a caller'}
          data={known.callers.map((claims) => ({
            value: JSON.stringify(claims),
            label: `${String(claims['sub'])}: ${JSON.stringify(claims)}`,
          }))}
          onAdd={add}
        />
      </Group>
      {isOperator && route?.kind === 'mcp' && <ToolLister key={route.id} route={route} onTools={setListed} />}
      <Group>
        <Button variant="default" onClick={() => add('{}')}>
          Add a caller
        </Button>
        <Button variant="default" loading={recent.isPending} onClick={() => recent.mutate()}>
          Take recent callers
        </Button>
        <Button
          loading={fill.isPending}
          disabled={
            tools.length === 0 || callers.length * tools.length > mostCells || expression.trim() === ''
          }
          onClick={() => fill.mutate()}
        >
          Fill the matrix
        </Button>
      </Group>
      {callers.length * tools.length > mostCells && (
        <Note tone="warn">The matrix may have {mostCells} cells.</Note>
      )}
      {recent.error !== null && <Failure error={recent.error} doing="Reading the callers" />}
      {recent.data?.callers.length === 0 && (
        <p className="quiet" role="status">
          No kept request has a caller. The gateway keeps refusals, errors, and what Traffic shows.
        </p>
      )}
      {fill.error !== null && <Failure error={fill.error} doing="Filling the matrix" />}
      {fill.data !== undefined && <Cells rows={fill.data} tools={tools} />}
    </Stack>
  );
}

interface Tried {
  readonly expression: string;
  readonly rule: RuleInUse | undefined;
  readonly request: string;
}

async function rowsOf(
  tried: Tried,
  callers: readonly Caller[],
  tools: readonly string[],
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const [at, { claims: text }] of callers.entries()) {
    const claims = claimsOf(text, `Claims of caller ${at + 1}`);
    const cells = await Promise.all(
      tools.map(async (tool): Promise<Cell> => {
        const call = withTool(tried.request, tool);
        if (call === undefined) throw new Error('The request above must be a tool call.');
        return await cellOf(tried, { request: call, ...(claims === undefined ? {} : { claims }) });
      }),
    );
    rows.push({ claims: text, cells });
  }
  return rows;
}

async function cellOf({ expression, rule }: Tried, call: Parameters<typeof explain>[0]): Promise<Cell> {
  if (rule === undefined) {
    const answer = await evaluate(expression, call);
    if ('error' in answer) return { after: { text: 'error', tone: 'warn', because: answer.error } };
    const { value } = answer;
    const tone = value === true ? 'good' : value === false ? 'bad' : 'plain';
    return { after: { text: JSON.stringify(value).slice(0, 40), tone } };
  }
  const before = verdictOf(await explain(call));
  if (expression === rule.expression) return { after: before };
  const after = verdictOf(await judge(call, { place: rule.place, expression }));
  return before.text === after.text ? { after } : { before, after };
}

/** The end of a call: the gateway would send it on, or not. */
function verdictOf({ outcome }: Decision): Verdict {
  const because = [outcome.policy, outcome.rule ?? outcome.reason]
    .filter((part) => part !== undefined)
    .join(': ');
  if (outcome.kind === 'forwarded') return { text: 'allowed', tone: 'good' };
  if (outcome.kind === 'refused') return { text: 'denied', tone: 'bad', because };
  // A counter or a service would decide about a call that the rules allow.
  return { text: outcome.kind, tone: 'warn', because };
}

const Cells = ({ rows, tools }: { rows: readonly Row[]; tools: readonly string[] }) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Values">
    <table className="grid" aria-label="Values for callers and tools">
      <thead>
        <tr>
          <th scope="col">Claims</th>
          {tools.map((tool) => (
            <th key={tool} scope="col">
              {tool}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ claims, cells }, nth) => (
          // eslint-disable-next-line react/no-array-index-key -- two callers may have the same claims
          <tr key={nth}>
            <th scope="row" className="mono claims">
              {claims.trim() === '' ? 'no token' : claims}
            </th>
            {cells.map(({ before, after }, at) => (
              <td key={tools[at]}>
                {before !== undefined && (
                  <>
                    <Shown verdict={before} /> <span className="quiet">becomes</span>{' '}
                  </>
                )}
                <Shown verdict={after} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const Shown = ({ verdict: { text, tone, because } }: { verdict: Verdict }) => (
  <span title={because}>
    <Tag tone={tone}>{text}</Tag>
  </span>
);

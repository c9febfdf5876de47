import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { evaluate } from '../api/rules.ts';
import type { CelAnswer } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag, type Tone } from '../parts/Tag.tsx';
import { claimsOf } from './claimsOf.ts';
import { recentCallers } from './recentCallers.ts';
import { withTool } from './requestText.ts';

/** A caller of the matrix. */
interface Caller {
  readonly id: number;
  readonly claims: string;
}

/** Cells of a matrix; each is a request to the gateway. */
const mostCells = 200;

interface Cell {
  readonly after: CelAnswer;
  /** The value of the rule in use; absent without one, and where it is the same. */
  readonly before?: CelAnswer;
}

interface Row {
  readonly claims: string;
  readonly cells: readonly Cell[];
}

/**
 * Shows which callers an expression would let use which tools.
 * @param props.baseline the expression in use, whose values are compared
 */
export function Matrix(props: { expression: string; baseline: string | undefined; request: string }) {
  const { expression, baseline, request } = props;
  const [callers, setCallers] = useState<readonly Caller[]>([
    { id: 1, claims: '{"sub": "alice", "groups": ["mcp-users"]}' },
    { id: 2, claims: '{"sub": "bob", "groups": []}' },
  ]);
  const [toolText, setToolText] = useState('echo, get-sum');
  const tools = [...new Set(toolText.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const fill = useMutation({ mutationFn: () => rowsOf({ expression, baseline, request }, callers, tools) });
  const recent = useMutation({
    mutationFn: recentCallers,
    onSuccess: (found) => {
      if (found.length === 0) return;
      setCallers(found.map((claims, at) => ({ id: at + 1, claims: JSON.stringify(claims) })));
      fill.reset();
    },
  });
  const change = (id: number, claims: string): void => {
    setCallers(callers.map((caller) => (caller.id === id ? { id, claims } : caller)));
    fill.reset();
  };
  return (
    <Stack gap="xs" component="section" aria-label="Matrix">
      <p className="quiet">
        The value of the expression for each caller and tool. The request above is a tool call.
        {baseline !== undefined && ' A cell with two values is one that the edit changes.'}
      </p>
      {callers.map(({ id, claims }, at) => (
        <Group key={id} align="end" wrap="nowrap">
          <TextInput
            flex={1}
            label={`Claims of caller ${at + 1}`}
            classNames={{ input: 'mono' }}
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
      <Group>
        <Button
          variant="default"
          onClick={() =>
            setCallers([...callers, { id: Math.max(0, ...callers.map(({ id }) => id)) + 1, claims: '{}' }])
          }
        >
          Add a caller
        </Button>
        <Button variant="default" loading={recent.isPending} onClick={() => recent.mutate()}>
          Take recent callers
        </Button>
        <Button
          loading={fill.isPending}
          disabled={callers.length * tools.length > mostCells || expression.trim() === ''}
          onClick={() => fill.mutate()}
        >
          Fill the matrix
        </Button>
      </Group>
      {callers.length * tools.length > mostCells && (
        <Note tone="warn">The matrix may have {mostCells} cells.</Note>
      )}
      {recent.error !== null && <Failure error={recent.error} doing="Reading the callers" />}
      {recent.data?.length === 0 && (
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
  readonly baseline: string | undefined;
  readonly request: string;
}

async function rowsOf(
  { expression, baseline, request }: Tried,
  callers: readonly Caller[],
  tools: readonly string[],
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { claims: text } of callers) {
    const claims = claimsOf(text);
    const cells = await Promise.all(
      tools.map(async (tool): Promise<Cell> => {
        const call = withTool(request, tool);
        if (call === undefined) throw new Error('The request above must be a tool call.');
        const written = { request: call, ...(claims === undefined ? {} : { claims }) };
        const after = await evaluate(expression, written);
        if (baseline === undefined || baseline === expression) return { after };
        const before = await evaluate(baseline, written);
        return shortValue(before) === shortValue(after) ? { after } : { before, after };
      }),
    );
    rows.push({ claims: text, cells });
  }
  return rows;
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
            <th scope="row" className="mono">
              {claims}
            </th>
            {cells.map(({ before, after }, at) => (
              <td key={tools[at]}>
                {before !== undefined && (
                  <>
                    <Shown answer={before} /> <span className="quiet">becomes</span>{' '}
                  </>
                )}
                <Shown answer={after} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const Shown = ({ answer }: { answer: CelAnswer }) => (
  <span title={'error' in answer ? answer.error : undefined}>
    <Tag tone={toneOf(answer)}>{shortValue(answer)}</Tag>
  </span>
);

const shortValue = (answer: CelAnswer): string =>
  'error' in answer ? 'error' : JSON.stringify(answer.value).slice(0, 40);

function toneOf(answer: CelAnswer): Tone {
  if ('error' in answer) return 'warn';
  return answer.value === true ? 'good' : answer.value === false ? 'bad' : 'plain';
}

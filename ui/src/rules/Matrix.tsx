import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { evaluate } from '../api/rules.ts';
import type { CelAnswer } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag, type Tone } from '../parts/Tag.tsx';
import { claimsOf } from './claimsOf.ts';
import { withTool } from './requestText.ts';

/** A caller of the matrix. */
interface Caller {
  readonly id: number;
  readonly claims: string;
}

/** Cells of a matrix; each is a request to the gateway. */
const mostCells = 200;

interface Row {
  readonly claims: string;
  readonly answers: readonly CelAnswer[];
}

/** Shows which callers an expression would let use which tools. */
export function Matrix({ expression, request }: { expression: string; request: string }) {
  const [callers, setCallers] = useState<readonly Caller[]>([
    { id: 1, claims: '{"sub": "alice", "groups": ["mcp-users"]}' },
    { id: 2, claims: '{"sub": "bob", "groups": []}' },
  ]);
  const [toolText, setToolText] = useState('echo, get-sum');
  const tools = [...new Set(toolText.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const fill = useMutation({ mutationFn: () => rowsOf(expression, request, callers, tools) });
  const change = (id: number, claims: string): void => {
    setCallers(callers.map((caller) => (caller.id === id ? { id, claims } : caller)));
    fill.reset();
  };
  return (
    <Stack gap="xs" component="section" aria-label="Matrix">
      <p className="quiet">
        The value of the expression for each caller and tool. The request above is a tool call.
      </p>
      {callers.map(({ id, claims }, at) => (
        <Group key={id} align="end" wrap="nowrap">
          <TextInput
            flex={1}
            label={`Claims of caller ${at + 1}`}
            className="mono"
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
      {fill.error !== null && <Failure error={fill.error} doing="Filling the matrix" />}
      {fill.data !== undefined && <Cells rows={fill.data} tools={tools} />}
    </Stack>
  );
}

async function rowsOf(
  expression: string,
  request: string,
  callers: readonly Caller[],
  tools: readonly string[],
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { claims: text } of callers) {
    const claims = claimsOf(text);
    const answers = await Promise.all(
      tools.map(async (tool) => {
        const call = withTool(request, tool);
        if (call === undefined) throw new Error('The request above must be a tool call.');
        return await evaluate(expression, { request: call, ...(claims === undefined ? {} : { claims }) });
      }),
    );
    rows.push({ claims: text, answers });
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
        {rows.map(({ claims, answers }) => (
          <tr key={claims}>
            <th scope="row" className="mono">
              {claims}
            </th>
            {answers.map((answer, at) => (
              <td key={tools[at]}>
                <span title={'error' in answer ? answer.error : undefined}>
                  <Tag tone={toneOf(answer)}>{shortValue(answer)}</Tag>
                </span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const shortValue = (answer: CelAnswer): string =>
  'error' in answer ? 'error' : JSON.stringify(answer.value).slice(0, 40);

function toneOf(answer: CelAnswer): Tone {
  if ('error' in answer) return 'warn';
  return answer.value === true ? 'good' : answer.value === false ? 'bad' : 'plain';
}

import { Button, Group, Stack, Textarea, Title } from '@mantine/core';
import { useState } from 'react';
import { ArgumentForm } from './ArgumentForm.tsx';
import { argumentsOf, defaultsOf, textsFor, type FormValues } from './arguments.ts';
import { formOf, textsOf, type Question } from './questions.ts';
import type { InputSchema } from './mcpTypes.ts';
import { ErrorBoundary } from '../parts/ErrorBoundary.tsx';
import { Failure } from '../parts/Failure.tsx';

/** A question of a server, with the form for its answer. */
export const QuestionForm = ({ question }: { question: Question }) => (
  <section className="panel" aria-label={`Question ${question.id}`}>
    <ErrorBoundary what="this question">
      {question.method === 'sampling/createMessage' ? (
        <Sampling question={question} />
      ) : (
        <Elicitation question={question} />
      )}
    </ErrorBoundary>
  </section>
);

function Elicitation({ question }: { question: Question }) {
  const { params } = question;
  const schema = formOf(question);
  return (
    <Stack gap="sm">
      <Title order={2} size="h5">
        The server asks you
      </Title>
      {typeof params['message'] === 'string' && <p className="wrap">{params['message']}</p>}
      {schema === undefined ? (
        <Address question={question} />
      ) : (
        <AnswerForm question={question} schema={schema} />
      )}
    </Stack>
  );
}

function AnswerForm({ question, schema }: { question: Question; schema: InputSchema }) {
  const [values, setValues] = useState<FormValues>(() => textsFor(schema, defaultsOf(schema)));
  const [problem, setProblem] = useState<Error>();
  const accept = (): void => {
    try {
      question.answer({ action: 'accept', content: argumentsOf(schema, values) });
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      <Stack gap="sm">
        <ArgumentForm schema={schema} values={values} onChange={setValues} />
        {problem !== undefined && <Failure error={problem} doing="The answer" />}
        <Group gap="xs">
          <Button type="submit">Send the answer</Button>
          <Refusals question={question} />
        </Group>
      </Stack>
    </form>
  );
}

/** An address that the person opens, such as a login of the server (elicitation, mode `url`). */
function Address({ question }: { question: Question }) {
  const { url } = question.params;
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  return (
    <>
      <p className="mono wrap">{String(url)}</p>
      <Group gap="xs">
        {isWeb && (
          <Button
            component="a"
            href={parsed.href}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => question.answer({ action: 'accept' })}
          >
            Open {parsed.host}
          </Button>
        )}
        <Refusals question={question} />
      </Group>
    </>
  );
}

const Refusals = ({ question }: { question: Question }) => (
  <>
    <Button variant="default" onClick={() => question.answer({ action: 'decline' })}>
      Decline
    </Button>
    <Button variant="default" onClick={() => question.answer({ action: 'cancel' })}>
      Cancel
    </Button>
  </>
);

function Sampling({ question }: { question: Question }) {
  const [text, setText] = useState('');
  const answer = {
    role: 'assistant',
    content: { type: 'text', text },
    model: 'a person',
    stopReason: 'endTurn',
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        question.answer(answer);
      }}
    >
      <Stack gap="sm">
        <Title order={2} size="h5">
          The server asks a language model
        </Title>
        {textsOf(question).map((row, at) => (
          // eslint-disable-next-line react/no-array-index-key -- rows may be equal, and never move
          <p key={at} className="wrap">
            <b>{row.role}</b>: {row.text}
          </p>
        ))}
        <Textarea
          label="Answer in place of the model"
          autosize
          minRows={2}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Group gap="xs">
          <Button type="submit">Send the answer</Button>
          <Button variant="default" onClick={() => question.refuse()}>
            Refuse
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

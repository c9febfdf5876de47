import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../api/playground.ts';
import type { GivenAnswer, RouteView } from '../api/types.ts';
import { credentialHeader } from '../connect/credentials.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag } from '../parts/Tag.tsx';
import { TokenFields } from './login/TokenFields.tsx';
import { recentRecords } from '../rules/recentCallers.ts';
import { WhyDrawer } from '../traffic/WhyDrawer.tsx';
import { handedReplay } from './replay.ts';
import { shortMs } from '../parts/time.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Sends a request to an HTTP route. */
export function HttpPlayground({ route }: { route: RouteView }) {
  const [replay] = useState(() => handedReplay(route.id));
  const [method, setMethod] = useState(replay?.method ?? 'GET');
  const [path, setPath] = useState(replay?.path ?? route.path ?? '/');
  const [token, setToken] = useState('');
  const [headers, setHeaders] = useState('');
  const [body, setBody] = useState('');
  const request = useMutation({
    mutationFn: async () =>
      await send(route.id, {
        method,
        path,
        headers: {
          ...credentialHeader(route, token.trim()),
          ...headersOf(headers),
        },
        ...(body === '' ? {} : { body }),
      }),
  });
  return (
    <Stack gap="sm">
      {route.authentication !== null && <TokenFields route={route} token={token} onToken={setToken} />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          request.mutate();
        }}
      >
        <Stack gap="sm">
          <Group align="end">
            <NativeSelect
              label="Method"
              data={methods}
              value={method}
              onChange={({ currentTarget }) => setMethod(currentTarget.value)}
            />
            <TextInput
              label="Path and query"
              flex={1}
              classNames={{ input: 'mono' }}
              value={path}
              onChange={({ currentTarget }) => setPath(currentTarget.value)}
            />
          </Group>
          <Textarea
            label="Headers"
            description="A line each, such as Accept: text/html."
            classNames={{ input: 'mono' }}
            autosize
            minRows={2}
            value={headers}
            onChange={({ currentTarget }) => setHeaders(currentTarget.value)}
          />
          <Textarea
            label="Body"
            classNames={{ input: 'mono' }}
            autosize
            minRows={2}
            value={body}
            onChange={({ currentTarget }) => setBody(currentTarget.value)}
          />
          <div>
            <Button type="submit" loading={request.isPending}>
              Send
            </Button>
          </div>
          {request.error !== null && <Failure error={request.error} doing="The request" />}
          {request.data !== undefined && <Answer answer={request.data} />}
        </Stack>
      </form>
    </Stack>
  );
}

const Answer = ({ answer }: { answer: GivenAnswer }) => (
  <section aria-label="Answer">
    <Tag tone={answer.status < 400 ? 'good' : 'bad'}>{answer.status}</Tag>{' '}
    <span className="quiet">
      after {shortMs(answer.ms)}, request id {answer.requestId}
    </span>
    {answer.status >= 400 && <WhyButton key={answer.requestId} requestId={answer.requestId} />}
    {answer.truncated && <Note tone="warn">The response was too long, or did not end in time.</Note>}
    <pre className="lines" tabIndex={0} aria-label="Headers and body of the answer">
      {Object.entries(answer.headers)
        .flatMap(([name, value]) => [value].flat().map((line) => `${name}: ${line}`))
        .join('\n')}
      {answer.encoding === 'utf8' ? `\n\n${answer.body}` : `\n\nBytes in base64:\n${answer.body}`}
    </pre>
  </section>
);

/** Opens the decision about a refused request. */
function WhyButton({ requestId }: { requestId: string }) {
  const [isOpen, setOpen] = useState(false);
  const found = useMutation({
    mutationFn: async () =>
      (await recentRecords()).findLast((record) => record.requestId === requestId) ?? null,
    onSuccess: () => setOpen(true),
  });
  return (
    <>
      {' '}
      <Button size="compact-xs" variant="default" loading={found.isPending} onClick={() => found.mutate()}>
        Why
      </Button>
      {found.error !== null && <Failure error={found.error} doing="Reading the record" />}
      {found.data === null && <p role="status">The gateway does not keep a record of this request.</p>}
      <WhyDrawer record={isOpen ? (found.data ?? undefined) : undefined} onClose={() => setOpen(false)} />
    </>
  );
}

/** @throws Error for a line that is no header */
function headersOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const [, name, value] = /^([^\s:]+):\s*(.*)$/.exec(line.trim()) ?? [];
        if (name === undefined || value === undefined) throw new Error(`Not a header: ${line}`);
        return [name.toLowerCase(), value];
      }),
  );
}

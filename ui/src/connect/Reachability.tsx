import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { RouteView, Target } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag } from '../parts/Tag.tsx';
import { shortMs } from '../parts/time.ts';
import { credentialNames } from './credentials.ts';
import { probe, type ProbeResult } from './probe.ts';

/** Sends requests through the policies of a route, and tells how they ended. */
export function Reachability({ route }: { route: RouteView }) {
  const [credential, setCredential] = useState('');
  const test = useMutation({ mutationFn: () => probe(route, credential.trim()) });
  return (
    <Stack gap="xs" component="section" aria-label="Test from the gateway">
      <Group align="end">
        {route.authentication !== null && (
          <PasswordInput
            label={credentialNames[route.authentication.credential]}
            description="The page keeps it in memory only."
            w={280}
            value={credential}
            onChange={({ currentTarget }) => setCredential(currentTarget.value)}
            autoComplete="off"
          />
        )}
        <Button loading={test.isPending} onClick={() => test.mutate()}>
          Test the route from the gateway
        </Button>
      </Group>
      {test.error !== null && <Failure error={test.error} doing="The test" />}
      {test.data !== undefined && <Result result={test.data} />}
    </Stack>
  );
}

function Result({ result: { answer, error, tools, targets } }: { result: ProbeResult }) {
  const { status, ms, body } = answer;
  const isFine = status < 400 && error === undefined;
  return (
    <Note tone={isFine ? 'good' : status === 401 ? 'warn' : 'bad'}>
      <p>
        The route answered <b>{status}</b> in {shortMs(ms)}.
        {status === 401 && ' It demands a credential, so clients must log in.'}
        {tools !== undefined &&
          error === undefined &&
          ` It lists ${tools} ${tools === 1 ? 'tool' : 'tools'}.`}
        {error !== undefined && ` The answer is an error: ${error}`}
      </p>
      {status >= 400 && <p className="mono">{body.slice(0, 500)}</p>}
      {targets.length > 0 && <TargetList targets={targets} />}
    </Note>
  );
}

const TargetList = ({ targets }: { targets: readonly Target[] }) => (
  <ul aria-label="Servers of the route">
    {targets.map(({ name, state, problem }) => (
      <li key={name}>
        {name} <Tag tone={state === 'ready' ? 'good' : 'bad'}>{state}</Tag> {problem}
      </li>
    ))}
  </ul>
);

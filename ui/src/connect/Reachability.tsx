import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../api/playground.ts';
import type { GivenAnswer, RouteView, SentRequest } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { shortMs } from '../parts/time.ts';

/** Sends one request through the policies of a route, and tells how it ended. */
export function Reachability({ route }: { route: RouteView }) {
  const [token, setToken] = useState('');
  const test = useMutation({ mutationFn: () => send(route.id, probeOf(route, token.trim())) });
  return (
    <Stack gap="xs" component="section" aria-label="Test from the gateway">
      <Group align="end">
        {route.authentication !== null && (
          <PasswordInput
            label="Token"
            description="The page keeps it in memory only."
            w={280}
            value={token}
            onChange={({ currentTarget }) => setToken(currentTarget.value)}
            autoComplete="off"
          />
        )}
        <Button loading={test.isPending} onClick={() => test.mutate()}>
          Test the route from the gateway
        </Button>
      </Group>
      {test.error !== null && <Failure error={test.error} doing="The test" />}
      {test.data !== undefined && <Result answer={test.data} />}
    </Stack>
  );
}

/** The first request of an MCP client, or a plain one. */
function probeOf({ kind, path }: RouteView, token: string): SentRequest {
  const authorization: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
  if (kind !== 'mcp') return { method: 'GET', path: path ?? '/', headers: authorization };
  return {
    method: 'POST',
    path: path ?? '/',
    headers: {
      ...authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'portcullis console', version: '1' },
      },
    }),
  };
}

function Result({ answer: { status, ms, body } }: { answer: GivenAnswer }) {
  const isFine = status < 400;
  return (
    <Note tone={isFine ? 'good' : status === 401 ? 'warn' : 'bad'}>
      <p>
        The route answered <b>{status}</b> in {shortMs(ms)}.
        {status === 401 && ' It demands a token, so clients must log in.'}
      </p>
      {!isFine && <p className="mono">{body.slice(0, 500)}</p>}
    </Note>
  );
}

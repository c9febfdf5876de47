/** A team has one API key, and each of its users a token for a server: a header carries it, and the gateway exchanges it. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { startRemote, type RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { CloudServer } from '../../src/policies/backendAuth/cloud.testing.ts';
import { startGateway } from './gateway.testing.ts';

interface Team {
  /** Names in the list of tools that the user gets. */
  readonly toolsOf: (user: string) => Promise<readonly string[]>;
  /** The session and the credential that a call of the user has at the server. */
  readonly callOf: (user: string) => Promise<string>;
  readonly server: RemoteServer;
}

async function start(t: TestContext, hasSecondTarget: boolean): Promise<Team> {
  const server = await startRemote(t);
  server.methods['tools/list'] = (x) => {
    const owner = String(x.seen.headers.authorization).replace('Bearer for-', '');
    const tools = [{ name: `of_${owner}`, inputSchema: { type: 'object' } }];
    x.json({ jsonrpc: '2.0', id: x.id, result: { tools } });
  };
  server.tools['who'] = (x) =>
    x.json(x.result(`${String(x.seen.headers['mcp-session-id'])} ${String(x.seen.headers.authorization)}`));
  const issuer = await CloudServer.start(t, ({ form }) => {
    const user = form.get('subject_token');
    if (user === 'mallory') throw new Error('unknown user');
    return { body: { access_token: `for-${String(user)}`, expires_in: 3_600 } };
  });
  const second = await startRemote(t);
  const subjectToken = { source: { header: { name: 'x-user' } } };
  const targets = [
    {
      name: 'far',
      mcp: { host: server.url },
      policies: { backendAuth: { oauthTokenExchange: { host: issuer.host, subjectToken } } },
    },
    ...(hasSecondTarget ? [{ name: 'open', mcp: { host: second.url } }] : []),
  ];
  const apiKey = {
    mode: 'strict',
    keys: [{ key: 'key-of-the-team' }],
    location: { header: { name: 'x-api-key' } },
  };
  const route = { policies: { apiKey }, backends: [{ mcp: { failureMode: 'failOpen', targets } }] };
  const gateway = await startGateway(
    JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [route] }] }] }),
  );
  t.after(() => gateway.stop());
  const client = (user: string): RawModernClient =>
    new RawModernClient(
      new URL(`${gateway.url}/mcp`),
      {},
      { 'x-api-key': 'key-of-the-team', ...(user === '' ? {} : { 'x-user': user }) },
    );
  return {
    server,
    toolsOf: async (user) => {
      const { json } = await client(user).post('tools/list');
      const { tools = [] } = (json.result ?? {}) as { tools?: { name: string }[] };
      return tools.map(({ name }) => name);
    },
    callOf: async (user) => {
      const answer = await client(user).post('tools/call', {
        name: hasSecondTarget ? 'far_who' : 'who',
        arguments: {},
      });
      const { result } = answer.events.at(-1) ?? answer.json;
      return (result as { content: { text: string }[] }).content[0]!.text;
    },
  };
}

describe('users of one API key share no list and no session of a server', () => {
  test('with one target', async (t) => {
    const { toolsOf, callOf } = await start(t, false);
    assert.deepEqual([await toolsOf('ada'), await toolsOf('bob')], [['of_ada'], ['of_bob']]);
    const [ada, bob] = [await callOf('ada'), await callOf('bob')].map((text) => text.split(' '));
    assert.deepEqual(
      [ada!.slice(1), bob!.slice(1)],
      [
        ['Bearer', 'for-ada'],
        ['Bearer', 'for-bob'],
      ],
    );
    assert.notEqual(ada![0], bob![0]);
  });

  test('with two targets, and a user without a good token gets nothing of the others', async (t) => {
    const { toolsOf, server } = await start(t, true);
    assert.deepEqual(await toolsOf('ada'), ['far_of_ada', 'open_echo']);
    assert.deepEqual(await toolsOf('mallory'), ['open_echo']);
    assert.deepEqual(await toolsOf(''), ['open_echo']);
    assert.deepEqual(await toolsOf('bob'), ['far_of_bob', 'open_echo']);
    assert.deepEqual(
      server.of('initialize').map(({ headers }) => headers.authorization),
      ['Bearer for-ada', 'Bearer for-bob'],
    );
  });
});

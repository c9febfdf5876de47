/** backendAuth.passthrough: each call reaches its server with the token of its own request. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startProcessor } from '../../examples/mcp/guardrails/processor.ts';
import type { Answered } from '../../src/mcp/rawClient.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { RemoteServer, type Incoming } from '../../src/mcp/remoteServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { audience, startIdp } from './stage.testing.ts';

interface Stage {
  readonly server: RemoteServer;
  /** Two tokens of one subject. */
  readonly tokens: readonly [string, string];
  clientWith(token: string): RawModernClient;
}

async function stage(t: TestContext, policies: object = {}): Promise<Stage> {
  const idp = await startIdp();
  const server = await RemoteServer.start();
  const gateway = await startGateway(
    JSON.stringify({
      binds: [
        {
          port: 0,
          listeners: [
            {
              routes: [
                {
                  policies: {
                    jwtAuth: {
                      mode: 'strict',
                      issuer: idp.issuer,
                      audiences: [audience],
                      jwks: { url: `${idp.issuer}/v1/keys` },
                    },
                    backendAuth: { passthrough: {} },
                    ...policies,
                  },
                  backends: [{ mcp: { targets: [{ name: 'server', mcp: { host: server.url } }] } }],
                },
              ],
            },
          ],
        },
      ],
    }),
  );
  t.after(async () => {
    await gateway[Symbol.asyncDispose]();
    await server.close();
    await idp.close();
  });
  await gateway.keysReady();
  const tokenFor = (expiresIn: number): Promise<string> => idp.issueToken({ user: 'alice', expiresIn });
  return {
    server,
    tokens: [await tokenFor(600), await tokenFor(900)],
    clientWith: (token) =>
      new RawModernClient(
        new URL(`${gateway.url}/mcp`),
        { elicitation: { form: {} } },
        { authorization: `Bearer ${token}` },
      ),
  };
}

const tokenOf = ({ seen }: Incoming): string => String(seen.headers.authorization).replace('Bearer ', '');

const messageOf = ({ json, events }: Answered) => events.at(-1) ?? json;

test('calls with two tokens of one subject keep their tokens while they wait for a guardrail', async (t) => {
  const gate = Promise.withResolvers<void>();
  let checks = 0;
  const processor = await startProcessor(0, {
    request: async () => {
      checks++;
      await gate.promise;
      return { pass: {} };
    },
    response: () => ({ pass: {} }),
  });
  t.after(() => processor.close());
  const { server, tokens, clientWith } = await stage(t, {
    mcpGuardrails: {
      processors: [
        { kind: 'remote', host: '127.0.0.1', port: processor.port, methods: { 'tools/call': 'request' } },
      ],
    },
  });
  server.tools['token'] = (x) => x.json(x.result(tokenOf(x)));
  const answers: Promise<Answered>[] = [];
  for (const [index, token] of tokens.entries()) {
    answers.push(clientWith(token).post('tools/call', { name: 'token', arguments: {} }));
    await until('the guardrail is asked', () => checks > index);
  }
  gate.resolve();
  const told = (await Promise.all(answers)).map(
    (answer) => (messageOf(answer).result?.['content'] as { text: string }[])[0]!.text,
  );
  assert.deepEqual(told, tokens);
});

test('a client with a refreshed token answers the question of a call that it began with the former one', async (t) => {
  const { server, tokens, clientWith } = await stage(t);
  const [former, refreshed] = tokens;
  let asking: Incoming | undefined;
  server.tools['ask'] = (x) => {
    asking = x.stream();
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
    const params = { message: 'Who?', requestedSchema };
    x.event({ jsonrpc: '2.0', id: 'question', method: 'elicitation/create', params });
  };
  const call = { name: 'ask', arguments: {} };
  const asked = messageOf(await clientWith(former).post('tools/call', call)).result!;
  assert.equal(asked['resultType'], 'input_required');
  const [key] = Object.keys(asked['inputRequests'] as object);
  const answered = clientWith(refreshed).post('tools/call', {
    ...call,
    requestState: asked['requestState'],
    inputResponses: { [key!]: { action: 'accept', content: { name: 'Ada' } } },
  });
  const response = await until('the server has the answer', () =>
    server.seen.find(({ message }) => message.id === 'question'),
  );
  assert.equal(response.headers.authorization, `Bearer ${refreshed}`);
  asking!.event(asking!.result('hello Ada'));
  asking!.end();
  assert.deepEqual(messageOf(await answered).result?.['content'], [{ type: 'text', text: 'hello Ada' }]);
});

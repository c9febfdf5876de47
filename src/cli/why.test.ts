import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Decision } from '../proxy/contract.ts';
import { main } from './index.ts';

const example = fileURLToPath(new URL('../../examples/why/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'portcullis-why-'));
after(() => rmSync(folder, { recursive: true }));

const written = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

async function why(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const terminal = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    env: {},
  };
  const code = await main(['why', ...args], terminal);
  return { code, out, err };
}

const inExample = (...args: string[]): ReturnType<typeof why> => why('-f', `${example}config.yaml`, ...args);
const decision = async (...args: string[]): Promise<Decision> => {
  const { code, out, err } = await inExample('--json', ...args);
  assert.equal(code, 0, err);
  return JSON.parse(out) as Decision;
};
const refused = `${example}refused.http`;
const ada = ['--claims', `${example}ada.json`];

test('the example prints the tree of its documentation', async () => {
  const { code, out, err } = await inExample('--request', refused, ...ada);
  assert.equal(code, 0, err);
  const page = readFileSync(new URL('../../docs/why.md', import.meta.url), 'utf8');
  assert.ok(page.includes(out.trimEnd()), out);
});

test('the rule that hides an MCP item is named, with the claims that it read', async () => {
  const { outcome, mcp = [] } = await decision('--request', refused, ...ada);
  assert.equal(outcome.kind, 'refused');
  assert.equal(outcome.policy, 'mcpAuthorization');
  const [message] = mcp;
  assert.equal(message?.target, 'tickets');
  assert.equal(message?.name, 'close');
  assert.equal(message?.errorCode, -32602);
  assert.deepEqual(
    message?.rules?.map(({ value, claims }) => [value, claims]),
    [
      ['false', undefined],
      ['false', { groups: '["readers"]' }],
    ],
  );
  assert.match(message?.rules?.[1]?.place ?? '', /routes\[0\]\.policies\.mcpAuthorization\.rules\[1\]$/);
});

test('an allowed call is forwarded, and its rate limit is not evaluated', async () => {
  const claims = written('editor.json', JSON.stringify({ sub: 'eve', groups: ['editors'] }));
  const { outcome, policies } = await decision('--request', refused, '--claims', claims);
  assert.deepEqual(outcome, { kind: 'forwarded' });
  const limit = policies.find(({ policy }) => policy === 'localRateLimit');
  assert.equal(limit?.verdict, 'not evaluated');
  assert.match(limit?.because ?? '', /^it counts: 10 at once, 10 every 1s, key jwt\.sub$/);
});

test('claims are judged by the issuers of the policy', async () => {
  const claims = written('other.json', JSON.stringify({ sub: 'ada', aud: 'api://other' }));
  const { outcome } = await decision('--request', refused, '--claims', claims);
  assert.equal(outcome.status, 401);
  assert.equal(outcome.policy, 'mcpAuthentication');
  assert.equal(outcome.reason, 'audience');
});

test('a token is never part of the output', async () => {
  const token = `${Buffer.from('{"alg":"EdDSA","kid":"k"}').toString('base64url')}.${Buffer.from(
    '{"iss":"https://evil.example","sub":"ada","secret":"hidden"}',
  ).toString('base64url')}.c2ln`;
  const { code, out } = await inExample('--request', refused, '--token', token);
  assert.equal(code, 0);
  assert.match(out, /^refused with 401 by mcpAuthentication/);
  assert.ok(!out.includes(token) && !out.includes('hidden'));
});

test('a secret of a variable in a rule is no part of the output, as text and as JSON', async () => {
  const file = written(
    'secret.yaml',
    `binds:
  - port: 8080
    listeners:
      - routes:
          - policies:
              authorization: { rules: ['request.headers["x-k"] == "$RULE_KEY"'] }
              directResponse: { status: 200 }
`,
  );
  const request = written('secret.http', 'GET / HTTP/1.1\nHost: x\nX-K: n\n\n');
  const env = { RULE_KEY: 'zq-very-secret-99887766' };
  for (const json of [[], ['--json']]) {
    let out = '';
    const terminal = { out: (text: string) => void (out += text), err: () => undefined, env };
    assert.equal(await main(['why', '-f', file, '--request', request, ...json], terminal), 0);
    assert.match(out, /request\.headers.*\[redacted\]/);
    assert.ok(!out.includes(env.RULE_KEY), out);
  }
});

test('a rule over the user of basicAuth is judged with the name that the request gives', async () => {
  const file = written(
    'users.yaml',
    `binds:
  - port: 8080
    listeners:
      - routes:
          - policies:
              basicAuth: { mode: strict, htpasswd: 'bob:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=' }
              authorization: { rules: ['basicAuth.username == "bob"'] }
              directResponse: { status: 200 }
`,
  );
  const asked = async (user: string): Promise<Decision> => {
    const token = Buffer.from(`${user}:any`).toString('base64');
    const request = written('user.http', `GET / HTTP/1.1\nHost: x\nAuthorization: Basic ${token}\n\n`);
    const { out, err } = await why('-f', file, '--request', request, '--json');
    assert.equal(err, '');
    return JSON.parse(out) as Decision;
  };
  const bob = await asked('bob');
  assert.deepEqual([bob.outcome.kind, bob.outcome.status], ['answered', 200]);
  const [{ verdict, because } = assert.fail()] = bob.policies;
  assert.deepEqual([verdict, because], ['passed', 'the user name and the password were not checked']);
  const eve = await asked('eve');
  assert.deepEqual([eve.outcome.kind, eve.outcome.policy], ['refused', 'authorization']);
});

test('a rule about arguments is judged with the arguments of the call', async () => {
  const text = readFileSync(`${example}config.yaml`, 'utf8').replace(
    '                rules:\n',
    '                rules:\n                  - deny: mcp.tool.arguments.id == 7\n',
  );
  const config = written('arguments.yaml', text);
  const claims = written('writer.json', JSON.stringify({ sub: 'eve', groups: ['editors'] }));
  const { code, out } = await why('-f', config, '--request', refused, '--claims', claims);
  assert.equal(code, 0);
  assert.match(
    out,
    /^refused by mcpAuthorization, rule deny: mcp\.tool\.arguments\.id == 7, at .*\.rules\[0\]\n/,
  );
  assert.match(out, /deny: mcp\.tool\.arguments\.id == 7 is true \(.*\.rules\[0\]\)\n/);
});

const limitedBy = (name: string, policy: string): string =>
  written(
    `${name}.yaml`,
    readFileSync(`${example}config.yaml`, 'utf8').replace(
      /              localRateLimit:\n.*\n/,
      `              ${policy}\n`,
    ),
  );
const editor = written('editors.json', JSON.stringify({ sub: 'eve', groups: ['editors'] }));
const place = 'binds[0].listeners[0].routes[0].policies';

const laterPolicies: Readonly<
  Record<string, { readonly policy: string; readonly what: string; readonly because: string }>
> = {
  mcpBudgets: {
    policy: 'mcpBudgets: [{ maxConcurrentCalls: 2 }]',
    what: 'it counts: 2 calls at a time, each caller',
    because: 'counted by mcpBudgets',
  },
  localRateLimit: {
    policy:
      'localRateLimit: [{ maxTokens: 10, tokensPerFill: 10, fillInterval: 1s, key: mcp.tool.name + jwt.sub }]',
    what: 'it counts: 10 at once, 10 every 1s, key mcp.tool.name + jwt.sub',
    because: 'counted by localRateLimit',
  },
  mcpGuardrails: {
    policy:
      'mcpGuardrails: { processors: [{ kind: remote, host: "127.0.0.1:9100", methods: { tools/call: full } }] }',
    what: 'it asks its processors',
    because: 'mcpGuardrails asks its processors',
  },
};

for (const [name, { policy, what, because }] of Object.entries(laterPolicies)) {
  test(`a call that ${name} judges later is not evaluated`, async () => {
    const config = limitedBy(name, policy);
    const { code, out, err } = await why('-f', config, '--request', refused, '--claims', editor, '--json');
    assert.equal(code, 0, err);
    const { outcome, policies, mcp } = JSON.parse(out) as Decision;
    assert.deepEqual(outcome, { kind: 'not evaluated', reason: because });
    const listed = policies.filter((one) => one.policy === name);
    assert.deepEqual(listed, [
      { policy: name, place: `${place}.${name}`, verdict: 'not evaluated', because: what },
    ]);
    assert.deepEqual(
      mcp?.map((message) => [message.verdict, message.because]),
      [['not evaluated', because]],
    );
  });

  test(`a call that the rules refuse does not reach ${name}`, async () => {
    const config = limitedBy(name, policy);
    const { out } = await why('-f', config, '--request', refused, ...ada, '--json');
    const { outcome, policies } = JSON.parse(out) as Decision;
    assert.equal(outcome.kind, 'refused');
    assert.deepEqual(
      policies.slice(-2).map((one) => [one.policy, one.verdict]),
      [
        ['mcpAuthorization', 'refused'],
        [name, 'not reached'],
      ],
    );
  });
}

test('a list is forwarded by counters of calls', async () => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const request = written('list.http', readFileSync(refused, 'utf8').replace(/\{"jsonrpc".*/, body));
  const config = limitedBy('lists', 'mcpBudgets: [{ maxConcurrentCalls: 2 }]');
  const { out } = await why('-f', config, '--request', request, '--claims', editor, '--json');
  const { outcome, policies } = JSON.parse(out) as Decision;
  assert.deepEqual(outcome, { kind: 'forwarded' });
  assert.equal(policies.at(-1)?.verdict, 'passed');
});

test('no rule is named where no target has the name of a tool', async () => {
  const text = readFileSync(refused, 'utf8').replace('tickets_close', 'mail_send');
  const { out, err } = await inExample('--request', written('unknown.http', text), '--claims', editor);
  assert.match(out, /^refused, Unknown tool: mail_send; no target has the name\n/, err);
  assert.match(out, /mcpAuthorization passed/);
});

test('a request that no route matches tells why each candidate differs', async () => {
  const request = written('none.http', 'POST /api/orders HTTP/1.1\nHost: localhost:8080\n\n');
  const { code, out } = await inExample('--request', request);
  assert.equal(code, 0);
  assert.match(out, /^refused with 404 \(route_not_found\)/);
  assert.match(out, /not chosen api .*: the method is not GET\n/);
});

test('the address of the client is judged in the form that a running gateway has, and no other text is one', async () => {
  const config = (address: string) =>
    written(
      'client.yaml',
      JSON.stringify({
        gateways: { default: { port: 8080 } },
        routes: [
          {
            policies: {
              authorization: { rules: [`source.address == "${address}"`] },
              directResponse: { status: 204 },
            },
          },
        ],
      }),
    );
  const request = written('client.http', 'GET / HTTP/1.1\nHost: a\n\n');
  const asked = (address: string, client: string) =>
    why(config(address), '--request', request, '--client', client);
  assert.match((await asked('10.0.0.9', '::ffff:10.0.0.9')).out, /^answered with 204/);
  assert.match((await asked('2001:db8::7', '2001:DB8:0::7')).out, /^answered with 204/);
  const { code, err } = await asked('10.0.0.9', 'localhost');
  assert.equal(code, 3);
  assert.match(err, /the client "localhost" is no IP address/);
});

test('a request that the parser refuses is explained, too', async () => {
  const request = written('bad.http', 'GET / HTTP/1.1\nHost: a\nHost: b\n\n');
  const { outcome } = await decision('--request', request);
  assert.equal(outcome.status, 400);
});

test('a wrong command line is refused with exit code 2', async () => {
  assert.equal((await inExample()).code, 2);
  assert.equal((await inExample('--request', '/nowhere')).code, 2);
  assert.equal((await inExample('--request', refused, '--claims', refused)).code, 2);
  assert.equal((await inExample('--request', refused, '--port', 'x')).code, 2);
  assert.equal((await inExample('--request', refused, '--port', '9')).code, 3);
});

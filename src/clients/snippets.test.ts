import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientName, httpSnippets, mcpSnippets, type ClientLogin } from './snippets.ts';

const url = 'https://mcp.example.com/a?b=c&d';

const textOf = (client: string, login: ClientLogin, to = url): string => {
  const endpoint = { name: 'wiki', url: to, login };
  const all = [...mcpSnippets(endpoint), ...httpSnippets(endpoint)];
  return all.find((each) => each.client === client)?.text ?? assert.fail(client);
};

const logins: Readonly<Record<string, ClientLogin>> = {
  none: { kind: 'none' },
  oauth: { kind: 'oauth' },
  token: { kind: 'header', name: 'authorization', prefix: 'Bearer ', credential: 'token' },
  key: { kind: 'header', name: 'x-api-key', prefix: '', credential: 'key' },
  password: { kind: 'header', name: 'authorization', prefix: 'Basic ', credential: 'password' },
};

/** Client → login → the text with which the client sends the credential; undefined: it sends none. */
const rows: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  'VS Code': {
    none: undefined,
    oauth: undefined,
    token: '"Authorization": "Bearer ${input:wiki-credential}"',
    key: '"x-api-key": "${input:wiki-credential}"',
    password: '"Authorization": "Basic ${input:wiki-credential}"',
  },
  'Claude Code': {
    none: undefined,
    oauth: undefined,
    token: ' --header "Authorization: Bearer $TOKEN"',
    key: ' --header "x-api-key: $API_KEY"',
    password: ' --header "Authorization: Basic $CREDENTIALS"',
  },
  'Claude Desktop': {
    none: undefined,
    oauth: undefined,
    token: '"Authorization:${TOKEN}"',
    key: '"x-api-key:${API_KEY}"',
    password: '"Authorization:${CREDENTIALS}"',
  },
  Cursor: {
    none: undefined,
    oauth: undefined,
    token: '"Authorization": "Bearer ${env:TOKEN}"',
    key: '"x-api-key": "${env:API_KEY}"',
    password: '"Authorization": "Basic ${env:CREDENTIALS}"',
  },
  Codex: {
    none: undefined,
    oauth: undefined,
    token: 'bearer_token_env_var = "TOKEN"',
    key: 'env_http_headers = { "x-api-key" = "API_KEY" }',
    password: 'env_http_headers = { "Authorization" = "CREDENTIALS" }',
  },
  Inspector: {
    none: undefined,
    oauth: ' --header "Authorization: Bearer $TOKEN"',
    token: ' --header "Authorization: Bearer $TOKEN"',
    key: ' --header "x-api-key: $API_KEY"',
    password: ' --header "Authorization: Basic $CREDENTIALS"',
  },
  'TypeScript SDK': {
    none: undefined,
    oauth: "'Authorization': `Bearer ${process.env.TOKEN}`",
    token: "'Authorization': `Bearer ${process.env.TOKEN}`",
    key: "'x-api-key': `${process.env.API_KEY}`",
    password: "'Authorization': `Basic ${process.env.CREDENTIALS}`",
  },
  'Python SDK': {
    none: undefined,
    oauth: `{"Authorization": f"Bearer {os.environ['TOKEN']}"}`,
    token: `{"Authorization": f"Bearer {os.environ['TOKEN']}"}`,
    key: `{"x-api-key": f"{os.environ['API_KEY']}"}`,
    password: `{"Authorization": f"Basic {os.environ['CREDENTIALS']}"}`,
  },
  curl: {
    none: undefined,
    oauth: ' -H "Authorization: Bearer $TOKEN"',
    token: ' -H "Authorization: Bearer $TOKEN"',
    key: ' -H "x-api-key: $API_KEY"',
    password: ' -H "Authorization: Basic $CREDENTIALS"',
  },
};

test('each client sends the credential that the route asks for', () => {
  for (const [client, cells] of Object.entries(rows))
    for (const [name, login] of Object.entries(logins)) {
      const text = textOf(client, login);
      assert.ok(text.includes(url), `${client} ${name} names the address`);
      const expected = cells[name];
      if (expected === undefined)
        assert.doesNotMatch(text, /[Aa]uthorization|api-key|TOKEN/, `${client} ${name}`);
      else assert.ok(text.includes(expected), `${client} ${name}:\n${text}`);
    }
  const known = [...mcpSnippets({ name: 'wiki', url, login: { kind: 'none' } })].map(({ client }) => client);
  assert.deepEqual([...known, 'curl'], Object.keys(rows), 'the table has each client');
});

test('settings are valid JSON, and words of commands survive a shell', () => {
  const none: ClientLogin = { kind: 'none' };
  assert.equal(JSON.parse(textOf('VS Code', none)).servers.wiki.url, url);
  assert.deepEqual(JSON.parse(textOf('Claude Desktop', none)).mcpServers.wiki.args, [
    '-y',
    'mcp-remote',
    url,
  ]);
  assert.equal(textOf('Claude Code', none), `claude mcp add --transport http wiki '${url}'`);
  for (const login of Object.values(logins))
    for (const client of ['VS Code', 'Claude Desktop', 'Cursor']) JSON.parse(textOf(client, login));
  const plain = JSON.parse(textOf('Claude Desktop', none, 'http://gateway.lan/mcp'));
  assert.ok(plain.mcpServers.wiki.args.includes('--allow-http'));
});

test('the name of a route becomes a name that clients take', () => {
  assert.equal(clientName('bind/3000/listener0/mcp server'), 'mcp-server');
  assert.equal(clientName(''), 'gateway');
});

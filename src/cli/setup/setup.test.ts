import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import { loadText } from '../../config/index.ts';
import { clientFiles, type Taken } from './clientFile.ts';
import { configurationText, environmentText } from './configurationText.ts';
import { readGrant } from './grants.ts';
import { readServer } from './server.ts';
import { trial, type Server, type Setup } from './setup.ts';

const setupOf = (servers: readonly Server[], more: Partial<Setup> = {}): Setup => ({
  ...trial,
  port: 3000,
  groupClaim: 'groups',
  servers,
  grants: [],
  ...more,
});

/** Loads the configuration of a set-up with the variables of its `.env`. */
const loaded = (setup: Setup) =>
  loadText(configurationText(setup, 'portcullis init'), {
    file: 'portcullis.yaml',
    env: parseEnv(environmentText(setup) ?? ''),
  });

const targetsOf = (servers: readonly Server[]): readonly unknown[] =>
  servers.map(({ name, target }) => ({ name, ...target }));

const importing = (kind: string, text: string): Taken => {
  const read = clientFiles[kind];
  assert.ok(read !== undefined);
  const taken = read(text);
  const result = loaded(setupOf(taken.servers));
  assert.ok(result.ok, JSON.stringify(result));
  return taken;
};

test('a server is a package, a command or a URL, and gets a name that no other server has', () => {
  const read = (text: string, others: readonly Server[] = []) => targetsOf([readServer(text, {}, others)])[0];
  const npx = (args: string[]) => ({ cmd: 'npx', args: ['-y', ...args] });
  assert.deepEqual(read('npm:@modelcontextprotocol/server-filesystem "/srv/my data"'), {
    name: 'filesystem',
    stdio: npx(['@modelcontextprotocol/server-filesystem', '/srv/my data']),
  });
  assert.deepEqual(read('pypi:mcp-server-time'), {
    name: 'time',
    stdio: { cmd: 'uvx', args: ['mcp-server-time'] },
  });
  assert.deepEqual(read('clock=pypi:mcp-server-time==1'), {
    name: 'clock',
    stdio: { cmd: 'uvx', args: ['mcp-server-time==1'] },
  });
  assert.deepEqual(read('https://mcp.example.com/mcp?a=b'), {
    name: 'example-com',
    mcp: { host: 'https://mcp.example.com/mcp?a=b' },
  });
  assert.deepEqual(read('node /srv/tickets/dist/index.js --price $5', [readServer('tickets=a', {}, [])]), {
    name: 'tickets-2',
    stdio: { cmd: 'node', args: ['/srv/tickets/dist/index.js', '--price', '$$5'] },
  });
  assert.deepEqual(read('/opt/node/bin/node /srv/shop.js'), {
    name: 'shop',
    stdio: { cmd: '/opt/node/bin/node', args: ['/srv/shop.js'] },
  });
  for (const wrong of ['', 'npm:', 'node "a', 'https://[', 'my_server=cat'])
    assert.throws(() => readServer(wrong, {}, []), /--server/, wrong);
  assert.throws(() => readServer('https://a.example', { A: 'b' }, []), /--env/);
});

test('a configuration loads whatever its names and secrets contain', () => {
  const secret = `it's "$HOME" \\n # and more`;
  const server = readServer('tools=node server.js', { TOKEN: secret, NUMBER: '12345' }, []);
  const grants = [readGrant(`we "all" and it's $HOME=a'b,c"d`, [server])];
  const setup = setupOf([server], { grants, groupClaim: 'cognito:groups', audience: 'a: #b $c' });
  const result = loaded(setup);
  assert.ok(result.ok, JSON.stringify(result));
  const model = JSON.stringify(result.model);
  assert.ok(model.includes(JSON.stringify(secret).slice(1, -1)));
  assert.ok(model.includes('"a: #b $c"'));
  const [, rule = ''] = /"((?:\\.|[^"\\])*cognito(?:\\.|[^"\\])*)"/.exec(model) ?? [];
  assert.equal(
    JSON.parse(`"${rule}"`),
    `"we \\"all\\" and it's $HOME" in jwt["cognito:groups"] && mcp.tool.name in ["a'b", "c\\"d"]`,
  );
  assert.throws(() => environmentText(setupOf([readServer('a', { B: '\'"`' }, [])])), /quotes of every kind/);
});

test('with several servers, a rule names the server of a tool', () => {
  const servers = ['one=a', 'two=b'].map((spec) => readServer(spec, {}, []));
  const text = configurationText(
    setupOf(servers, { grants: [readGrant('g=one:x,two:*', servers), readGrant('h=*', servers)] }),
    'c',
  );
  assert.ok(
    text.includes(
      `'"g" in jwt.groups && ((mcp.tool.target == "one" && mcp.tool.name in ["x"]) || (mcp.tool.target == "two" && mcp.tool.name != ""))'`,
    ),
    text,
  );
  assert.ok(text.includes(`'"h" in jwt.groups'`));
  for (const wrong of ['g', '=x', 'g=', 'g=x', 'g=three:x'])
    assert.throws(() => readGrant(wrong, servers), /--allow/, wrong);
  assert.throws(() => readGrant('g=three:x', servers), /one of the servers one, two, and got "three:x"/);
});

test('no server and no key shares the variable of another', () => {
  const { servers } = importing(
    'mcp.json',
    JSON.stringify({
      mcpServers: {
        github: { command: 'a', env: { ENTERPRISE_TOKEN: 'of github', token: 'small', TOKEN: 'large' } },
        'github-enterprise': { command: 'b', env: { TOKEN: 'of enterprise' } },
        github_token: { url: 'https://a.example/mcp', headers: { 'X-A': 'one', X_A: 'two' } },
      },
    }),
  );
  const values = parseEnv(environmentText({ servers }) ?? '');
  const valueOf = (field: unknown): string | undefined => values[String(field).slice('${'.length, -1)];
  assert.deepEqual(
    targetsOf(servers).map((target) => {
      const { stdio, policies } = target as {
        stdio?: { env: Record<string, string> };
        policies?: { requestHeaderModifier: { set: Record<string, string> } };
      };
      return Object.values(stdio?.env ?? policies?.requestHeaderModifier.set ?? {}).map(valueOf);
    }),
    [['of github', 'small', 'large'], ['of enterprise'], ['one', 'two']],
  );
});

test('imports servers of Claude with their secrets in variables, and reports the rest', () => {
  const { servers, left } = importing(
    'claude',
    JSON.stringify({
      projects: {},
      mcpServers: {
        'git hub': { command: 'npx', args: ['-y', 'server-github'], env: { TOKEN: 'ghp' }, cwd: '/srv' },
        remote: {
          type: 'http',
          url: 'https://a.example/mcp',
          headers: { Authorization: 'Bearer t', 'X-Key': 'k' },
        },
        old: { type: 'sse', url: 'https://a.example/sse' },
        bridge: { command: 'npx', args: ['mcp-remote', 'https://b.example/mcp'], timeout: 5 },
        off: { command: 'x', disabled: true },
      },
    }),
  );
  assert.deepEqual(targetsOf(servers), [
    {
      name: 'git-hub',
      stdio: { cmd: 'npx', args: ['-y', 'server-github'], env: { TOKEN: '${GIT_HUB_TOKEN}' }, cwd: '/srv' },
    },
    {
      name: 'remote',
      mcp: { host: 'https://a.example/mcp' },
      policies: {
        backendAuth: { key: { value: '${REMOTE_AUTHORIZATION}' } },
        requestHeaderModifier: { set: { 'X-Key': '${REMOTE_X_KEY}' } },
      },
    },
    { name: 'old', sse: { host: 'https://a.example/sse' } },
    { name: 'bridge', mcp: { host: 'https://b.example/mcp' } },
  ]);
  assert.deepEqual(
    servers.map(({ secrets }) => secrets),
    [{ GIT_HUB_TOKEN: 'ghp' }, { REMOTE_AUTHORIZATION: 't', REMOTE_X_KEY: 'k' }, {}, {}],
  );
  assert.deepEqual(
    left.map((line) => line.split(':')[0]),
    ['projects', 'bridge.timeout', 'bridge', 'off'],
  );
});

test('imports the file of VS Code with its comments, and reports values that only the editor knows', () => {
  const { servers, left } = importing(
    'vscode',
    `{ // servers
      "inputs": [{ "id": "key", "type": "promptString" }],
      "servers": {
        "shop": { "type": "stdio", "command": "shop", "args": ["// no comment,]"], "env": { "KEY": "\${input:key}" }, },
        "here": { "command": "tool", "args": ["\${workspaceFolder}"] }, /* the last */
      },
    }`,
  );
  assert.deepEqual(targetsOf(servers), [
    { name: 'shop', stdio: { cmd: 'shop', args: ['// no comment,]'], env: { KEY: '${SHOP_KEY}' } } },
    { name: 'here', stdio: { cmd: 'tool', args: ['$${workspaceFolder}'] } },
  ]);
  assert.deepEqual(
    left.map((line) => line.split(':')[0]),
    ['shop.env.KEY', 'here'],
  );
});

test('reports a placeholder of the client in an address and in a folder', () => {
  const { left } = importing(
    'mcp.json',
    `{"mcpServers": {
      "a": {"url": "https://a.example/mcp?k=\${input:k}"},
      "b": {"command": "b", "cwd": "\${workspaceFolder}/x"},
      "c": {"command": "npx", "args": ["mcp-remote", "https://c.example/\${input:k}"]}
    }}`,
  );
  assert.deepEqual(
    left.map((line) => line.split(':')[0]),
    ['a.url', 'b.cwd', 'c', 'c.url'],
  );
});

test('headers of mcp-remote get their variables from the environment of the entry', () => {
  const { servers, left } = importing(
    'mcp.json',
    `{"mcpServers": {"rem": {
      "command": "npx",
      "args": ["mcp-remote", "https://a.example/mcp",
        "--header", "Authorization:\${AUTH_HEADER}", "--header", "X-Key: \${KEY}"],
      "env": {"AUTH_HEADER": "Bearer t", "DEBUG": "1"}
    }}}`,
  );
  assert.deepEqual(
    servers.map(({ secrets }) => secrets),
    [{ REM_AUTHORIZATION: 't', REM_X_KEY: '' }],
  );
  assert.deepEqual(left.slice(1), [
    'rem.env.DEBUG: only mcp-remote uses it',
    'rem.headers.X-Key: it names a value that only the client knows; set it in .env',
  ]);
});

test('a header of mcp-remote with a value that only the client knows is reported as that header', () => {
  const { servers, left } = importing(
    'mcp.json',
    `{"mcpServers": {"rem": {
      "command": "npx",
      "args": ["mcp-remote", "https://a.example/mcp",
        "--header", "Authorization: Bearer \${TOKEN}", "--header", "X-Own: \${constructor}"],
      "env": {"TOKEN": "\${input:token}"}
    }}}`,
  );
  assert.deepEqual(
    servers.map(({ secrets }) => secrets),
    [{ REM_AUTHORIZATION: '', REM_X_OWN: '' }],
  );
  assert.deepEqual(
    left.slice(1).map((line) => line.split(':')[0]),
    ['rem.headers.Authorization', 'rem.headers.X-Own'],
  );
});

test('imports command lines of supergateway', () => {
  const { servers, left } = importing(
    'supergateway',
    `#!/bin/sh
# npx supergateway --stdio "no"
npx -y supergateway --stdio "npx -y @modelcontextprotocol/server-filesystem /srv" \\
  --port 8000 --outputTransport streamableHttp --cors
docker run supercorp/supergateway --sse=https://a.example/sse --oauth2Bearer abc --header "X-A: b"
`,
  );
  assert.deepEqual(targetsOf(servers), [
    {
      name: 'filesystem',
      stdio: { cmd: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv'] },
    },
    {
      name: 'a-example',
      sse: { host: 'https://a.example/sse' },
      policies: {
        requestHeaderModifier: { set: { 'X-A': '${A_EXAMPLE_X_A}' } },
        backendAuth: { key: { value: '${A_EXAMPLE_AUTHORIZATION}' } },
      },
    },
  ]);
  assert.deepEqual(left, ['--cors: the gateway has no such setting, or another one']);
});

test('a command within a command line of supergateway keeps its quoted words', () => {
  const { servers } = importing(
    'supergateway',
    `supergateway --stdio 'uvx mcp-server-git --repository "/srv/my code"'
supergateway --stdio "npx -y notes --title \\"two words\\" --by 'A B'"
`,
  );
  assert.deepEqual(targetsOf(servers), [
    { name: 'my-code', stdio: { cmd: 'uvx', args: ['mcp-server-git', '--repository', '/srv/my code'] } },
    { name: 'A-B', stdio: { cmd: 'npx', args: ['-y', 'notes', '--title', 'two words', '--by', 'A B'] } },
  ]);
});

test('reports variables of the shell in command lines of supergateway', () => {
  const { servers, left } = importing(
    'supergateway',
    `supergateway --sse https://a.example/sse --oauth2Bearer "$TOKEN" --header "X-A: \${KEY}"
supergateway --stdio "npx files $HOME/docs"
`,
  );
  assert.deepEqual(servers[0]?.secrets, { A_EXAMPLE_X_A: '', A_EXAMPLE_AUTHORIZATION: '' });
  assert.deepEqual(left, [
    'a-example.headers.X-A: it names a value that only the shell knows; set it in .env',
    'a-example.headers.Authorization: it names a value that only the shell knows; set it in .env',
    'docs: $HOME/docs names a value that only the shell knows; write it into the configuration',
  ]);
});

test('refuses files that are not those of a client', () => {
  for (const [kind, text] of [
    ['claude', '{'],
    ['claude', '[]'],
    ['vscode', '{"mcpServers": {}}'],
    ['supergateway', 'echo hello'],
  ] as const)
    assert.throws(() => clientFiles[kind]?.(text), /^UsageError: the file/, kind);
});

/** The first hour: `init` and `import` write configurations that protect MCP servers, and clients use the result. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Program, run } from '../../src/cli/program.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { everything, node } from './stage.testing.ts';

describe('the first hour', () => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-first-'));
  let idp: Program;
  let issuer = '';

  before(async () => {
    idp = new Program(['idp', '--port', '0']);
    [, issuer = ''] = await idp.saw(/^issuer (\S+)$/m);
  });
  after(async () => {
    idp.child.kill();
    await idp.ended;
    rmSync(home, { recursive: true, force: true });
  });

  const tokenOf = async (): Promise<string> => {
    const flags = ['--issuer', issuer, '--client-id', 'demo', '--client-secret', 'demo-secret'];
    return (await run(['token', ...flags])).out.trim();
  };

  /** Runs the gateway on the files of a folder, and uses it as a client with a token of the group `mcp-users`. */
  const withClient = async (folder: string, use: (client: Client) => Promise<void>): Promise<void> => {
    const files = ['-f', join(folder, 'portcullis.yaml'), '--env-file', join(folder, '.env')];
    const checked = await run(['check', ...files]);
    assert.equal(checked.code, 0, checked.err);
    const gateway = new Program(['run', ...files, '--no-admin']);
    try {
      const [, port = ''] = await gateway.saw(/ready ports=(\d+)/);
      const url = new URL(`http://localhost:${port}/mcp`);
      assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401);
      const client = new Client({ name: 'first', version: '1.0.0' });
      const headers = { authorization: `Bearer ${await tokenOf()}` };
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
      await use(client);
      await client.close();
    } finally {
      gateway.child.kill();
      await gateway.ended;
    }
  };

  const useTwoTools = async (client: Client): Promise<void> => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['echo', 'get-env']);
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
    assert.deepEqual(content, [{ type: 'text', text: 'Echo: hello' }]);
    await assert.rejects(
      client.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } }),
      /Unknown tool|not found/,
    );
    // The server has the variable of .env.
    const environment = await client.callTool({ name: 'get-env', arguments: {} });
    assert.match(JSON.stringify(environment.content), /it's a \$ecret/);
  };

  test('init with flags checks its servers and writes files, and the gateway on them serves what they allow', async () => {
    const folder = join(home, 'flags');
    const [port] = await freePorts(1);
    const { code, out, err } = await run([
      'init',
      ...['--server', `tools=${node} ${everything}`, '--env', "tools.TOKEN=it's a $ecret"],
      ...['--issuer', issuer, '--audience', 'api://default', '--allow', 'mcp-users=echo,get-env'],
      ...['--port', String(port), '--output', folder],
    ]);
    assert.equal(code, 0, err);
    assert.match(out, /tools: \d+ tools: .*echo/);
    assert.equal(statSync(join(folder, '.env')).mode & 0o777, 0o600);
    const text = readFileSync(join(folder, 'portcullis.yaml'), 'utf8');
    assert.match(text, /failureMode: failOpen/);
    const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
    const { $id } = JSON.parse(readFileSync(join(folder, schema), 'utf8')) as { $id: string };
    assert.match($id, /portcullis\.schema\.json$/);
    assert.doesNotMatch(text, /ecret/);
    assert.match(
      readFileSync(join(folder, 'portcullis-clients.md'), 'utf8'),
      new RegExp(`claude mcp add .*:${String(port)}/mcp`),
    );
    await withClient(folder, useTwoTools);
    // A second run must not replace what people may have edited.
    const again = await run(['init', '--server', 'http://127.0.0.1:1/mcp', '--no-check', '--output', folder]);
    assert.equal(again.code, 2);
    assert.match(again.err, /exists already/);
    assert.equal(readFileSync(join(folder, 'portcullis.yaml'), 'utf8'), text);
  });

  test('init asks again after an answer that cannot be used', async (t) => {
    const folder = join(home, 'asked');
    const [port] = await freePorts(1);
    const program = new Program(['init', '--ask', '--port', String(port), '--output', folder], {
      input: true,
    });
    t.after(() => program.child.kill());
    const answers: readonly (readonly [question: RegExp, answer: string])[] = [
      [/Issuer of the tokens/, 'http://127.0.0.1:1/none'],
      [/Audience/, 'x'],
      [/Issuer[^]*Issuer of the tokens/, issuer],
      [/Audience[^]*Audience/, 'api://default'],
      [/MCP server/, 'tools=/no/such/program'],
      [/Variables for tools/, ''],
      [/MCP server[^]*MCP server/, `tools=${node} ${everything}`],
      [/Variables for tools[^]*Variables for tools/, "TOKEN=it's"],
      [/Another MCP server/, ''],
      [/Tools of a group/, 'mcp-users=no-such-tool'],
      [/no server has the tool tools:no-such-tool[^]*Tools of a group/, 'mcp-users=echo,get-env'],
      [/Tools of a group[^]*Tools of a group[^]*Tools of a group/, ''],
    ];
    for (const [question, answer] of answers) {
      await program.saw(question);
      program.child.stdin?.write(`${answer}\n`);
    }
    const { code, err } = await program.ended;
    assert.equal(code, 0, err);
    await withClient(folder, async (client) => {
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['echo', 'get-env']);
    });
  });

  test('init writes nothing where a server does not start, a tool is unknown, or the issuer does not answer', async () => {
    const folder = join(home, 'nothing');
    const good = ['--server', `tools=${node} ${everything}`, '--issuer', issuer];
    const attempts: readonly (readonly [string[], RegExp])[] = [
      [['--server', '/no/such/program', '--issuer', issuer], /program: [^]*\/no\/such\/program/],
      [[...good, '--allow', 'mcp-users=ecko'], /no server has the tool tools:ecko/],
      [
        ['--server', good[1] ?? '', '--issuer', 'http://127.0.0.1:1/none'],
        /key set of http:\/\/127\.0\.0\.1:1\/none/,
      ],
    ];
    for (const [flags, problem] of attempts) {
      const { code, err } = await run(['init', ...flags, '--output', folder]);
      assert.equal(code, 3, err);
      assert.match(err, problem);
      assert.throws(() => statSync(folder), /ENOENT/);
    }
  });

  test('import makes a gateway of the servers of a client, and says what it left', async () => {
    const folder = join(home, 'imported');
    const file = join(home, 'mcp.json');
    const [port] = await freePorts(1);
    writeFileSync(
      file,
      JSON.stringify({
        mcpServers: {
          tools: {
            command: node,
            args: [everything],
            env: { TOKEN: "it's a $ecret" },
            autoApprove: ['echo'],
          },
          off: { command: 'false', disabled: true },
        },
      }),
    );
    const { code, err } = await run([
      ...['import', 'mcp.json', file, '--issuer', issuer, '--audience', 'api://default'],
      ...['--allow', 'mcp-users=echo,get-env', '--port', String(port), '--output', folder],
    ]);
    assert.equal(code, 0, err);
    assert.match(err, /not taken over: tools\.autoApprove/);
    assert.match(err, /not taken over: off: /);
    await withClient(folder, useTwoTools);
  });

  test('without arguments, the program explains itself in ten lines', async () => {
    const { code, out, err } = await run([]);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.ok(err.trim().split('\n').length <= 10, err);
    for (const command of ['run -f', 'init', 'import', 'npm run demo'])
      assert.ok(err.includes(command), command);
  });
});

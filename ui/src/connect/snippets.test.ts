import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientName, httpSnippets, mcpSnippets } from './snippets.ts';

const url = 'https://mcp.example.com/a?b=c&d';

test('every snippet names the address, and those with a token take it from the environment', () => {
  for (const needsToken of [false, true]) {
    const endpoint = { name: 'wiki', url, needsToken };
    const snippets = [...mcpSnippets(endpoint), ...httpSnippets(endpoint)];
    for (const { client, text } of snippets) assert.ok(text.includes(url), client);
    assert.deepEqual(
      snippets.filter(({ text }) => text.includes('TOKEN')).map(({ client }) => client),
      needsToken ? ['Inspector', 'TypeScript SDK', 'Python SDK', 'curl'] : [],
    );
  }
});

test('settings are valid JSON, and words of commands survive a shell', () => {
  const of = (client: string): string =>
    mcpSnippets({ name: 'wiki', url, needsToken: false }).find((each) => each.client === client)?.text ?? '';
  assert.equal(JSON.parse(of('VS Code')).servers.wiki.url, url);
  assert.deepEqual(JSON.parse(of('Claude Desktop')).mcpServers.wiki.args, ['-y', 'mcp-remote', url]);
  assert.equal(of('Claude Code'), `claude mcp add --transport http wiki '${url}'`);
});

test('the name of a route becomes a name that clients take', () => {
  assert.equal(clientName('bind/3000/listener0/mcp server'), 'mcp-server');
  assert.equal(clientName(''), 'gateway');
});

/** Texts that connect a client to a route. */

/** The facts of a connection that snippets need. */
export interface Endpoint {
  /** The name of the server in the client's settings. */
  readonly name: string;
  readonly url: string;
  /** The client must present a token. Clients that log in by themselves need no further setting. */
  readonly needsToken: boolean;
}

/** Settings or a command for a client. */
export interface Snippet {
  readonly client: string;
  /** Where the text belongs. */
  readonly place: string;
  readonly text: string;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);

/** The snippets for an MCP route. The token of commands comes from the variable TOKEN. */
export function mcpSnippets({ name, url, needsToken }: Endpoint): readonly Snippet[] {
  const header = needsToken ? ' --header "Authorization: Bearer $TOKEN"' : '';
  return [
    {
      client: 'VS Code',
      place: '.vscode/mcp.json',
      text: json({ servers: { [name]: { type: 'http', url } } }),
    },
    {
      client: 'Claude Code',
      place: 'shell; the command /mcp logs in',
      text: `claude mcp add --transport http ${name} ${shell(url)}`,
    },
    {
      client: 'Claude Desktop',
      place: 'claude_desktop_config.json',
      text: json({ mcpServers: { [name]: { command: 'npx', args: ['-y', 'mcp-remote', url] } } }),
    },
    { client: 'Cursor', place: '~/.cursor/mcp.json', text: json({ mcpServers: { [name]: { url } } }) },
    {
      client: 'Codex',
      place: `~/.codex/config.toml; \`codex mcp login ${name}\` logs in`,
      text: `[mcp_servers.${name}]\nurl = ${JSON.stringify(url)}`,
    },
    {
      client: 'Inspector',
      place: 'shell',
      text: `npx @modelcontextprotocol/inspector --cli ${shell(url)} --transport http --method tools/list${header}`,
    },
    {
      client: 'TypeScript SDK',
      place: 'a module; npm install @modelcontextprotocol/client',
      text: typescript(url, needsToken),
    },
    { client: 'Python SDK', place: 'a script; pip install mcp', text: python(url, needsToken) },
  ];
}

/** The snippets for an HTTP route. */
export const httpSnippets = ({ url, needsToken }: Endpoint): readonly Snippet[] => [
  {
    client: 'curl',
    place: 'shell',
    text: `curl -i ${shell(url)}${needsToken ? ' -H "Authorization: Bearer $TOKEN"' : ''}`,
  },
];

/** The name of a route as clients take it: letters, digits, underscores and hyphens. */
export const clientName = (route: string): string =>
  (route.split('/').at(-1) ?? '').replaceAll(/[^\w-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'gateway';

/** A word for a shell, quoted where that is needed. */
const shell = (word: string): string =>
  /^[\w:/.@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

const typescript = (url: string, needsToken: boolean): string =>
  `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)})${
    needsToken
      ? ', {\n    requestInit: { headers: { authorization: `Bearer ${process.env.TOKEN}` } },\n  }'
      : ''
  }),
);
console.log(await client.listTools());
await client.close();`;

const python = (url: string, needsToken: boolean): string => {
  const imports = needsToken ? '\nfrom mcp.shared._httpx_utils import create_mcp_http_client' : '';
  const body = (lead: string, transport: string): string =>
    `${lead}async with Client(${transport}) as client:
${lead}    print(await client.list_tools())`;
  const plain = body('    ', `streamable_http_client(${JSON.stringify(url)})`);
  const withToken = `    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with create_mcp_http_client(headers=headers) as http:
${body('        ', `streamable_http_client(${JSON.stringify(url)}, http_client=http)`)}`;
  return `import asyncio${needsToken ? ', os' : ''}
from mcp import Client
from mcp.client.streamable_http import streamable_http_client${imports}

async def main():
${needsToken ? withToken : plain}

asyncio.run(main())`;
};

import { endpointOf, type Setup } from './setup.ts';

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, undefined, 2)}\n\`\`\``;

/** Markdown that tells how MCP clients are connected to a gateway. */
export function clientSnippets(setup: Pick<Setup, 'port'>): string {
  const url = endpointOf(setup);
  return `# Connect MCP clients

The address of the gateway is ${url}. A client that can log in asks for the user when it connects first.

## VS Code

In \`.vscode/mcp.json\`:

${json({ servers: { portcullis: { type: 'http', url } } })}

## Claude Code

\`\`\`sh
claude mcp add --transport http portcullis ${url}
\`\`\`

## Cursor

In \`~/.cursor/mcp.json\`:

${json({ mcpServers: { portcullis: { url } } })}

## MCP Inspector

\`\`\`sh
npx @modelcontextprotocol/inspector --cli ${url} --transport http --header "Authorization: Bearer $TOKEN" --method tools/list
\`\`\`

\`portcullis token\` gets a token for a client with a secret. Without \`--cli\`, the Inspector opens a page that can log in.
`;
}

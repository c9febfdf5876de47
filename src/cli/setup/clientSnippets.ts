import { mcpSnippets } from '../../clients/index.ts';
import { endpointOf, type Setup } from './setup.ts';

/** Markdown that tells how MCP clients are connected to a gateway. */
export function clientSnippets(setup: Pick<Setup, 'port'>): string {
  const url = endpointOf(setup);
  const sections = mcpSnippets({ name: 'portcullis', url, login: { kind: 'oauth' } }).map(
    ({ client, use, language, text }) => `## ${client}\n\n${use}\n\n\`\`\`${language}\n${text}\n\`\`\`\n`,
  );
  return `# Connect MCP clients

The address of the gateway is ${url}. A client that can log in asks for the user when it connects first. \`portcullis token\` gets a token for a client with a secret.

${sections.join('\n')}`;
}

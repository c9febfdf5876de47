/** Texts that connect a client to a route. The console and `portcullis init` show the same. */

import { pythonClient, typescriptClient, type HeaderFrom } from './programs.ts';

/** The credential that a client sends, and where it gets it. */
export type ClientLogin =
  | { readonly kind: 'none' }
  /** The client finds the login by the metadata of the route. */
  | { readonly kind: 'oauth' }
  | {
      readonly kind: 'header';
      readonly name: string;
      /** Stands before the credential, such as `Bearer `. */
      readonly prefix: string;
      readonly credential: 'token' | 'password' | 'key';
    };

/** The facts of a connection that snippets need. */
export interface Endpoint {
  /** The name of the server in the client's settings. */
  readonly name: string;
  readonly url: string;
  readonly login: ClientLogin;
}

/** Settings or a command for a client. */
export interface Snippet {
  readonly client: string;
  /** Sentences that say where the text belongs, and what comes after it. */
  readonly use: string;
  readonly language: 'json' | 'sh' | 'toml' | 'ts' | 'python';
  readonly text: string;
}

/** Variable of the environment, and what it holds, by the kind of the credential. */
const variables = {
  token: ['TOKEN', 'the token'],
  key: ['API_KEY', 'the key'],
  password: ['CREDENTIALS', '`user:password` in base64'],
} as const;

const json = (value: unknown): string => JSON.stringify(value, null, 2);

/** The snippets for an MCP route. */
export function mcpSnippets({ name, url, login }: Endpoint): readonly Snippet[] {
  const header = headerOf(login);
  const [variable, content] = header === undefined ? ['', ''] : [header.variable, contentOf(login)];
  /** Programs cannot log in by themselves. */
  const ofProgram = header ?? (login.kind === 'oauth' ? tokenHeader : undefined);
  const needs = ofProgram === undefined ? '' : ` The variable ${ofProgram.variable} has ${contentOf(login)}.`;
  const reads = (client: string): string =>
    header === undefined ? '' : ` ${client} reads ${content} from its variable ${variable}.`;
  const shown = ofProgram && ` --header "${ofProgram.name}: ${ofProgram.prefix}$${ofProgram.variable}"`;
  return [
    {
      client: 'VS Code',
      use: `Write this into .vscode/mcp.json.${header === undefined ? '' : ` VS Code asks for ${content} once.`}`,
      language: 'json',
      text: json(visualStudioCode(name, url, header)),
    },
    {
      client: 'Claude Code',
      use: `Run this in a shell.${header === undefined ? '' : needs}${
        login.kind === 'oauth' ? ' Then log in with the command /mcp of Claude Code.' : ''
      }`,
      language: 'sh',
      text: `claude mcp add --transport http ${name} ${shell(url)}${header === undefined ? '' : shown}`,
    },
    {
      client: 'Claude Desktop',
      use: `Write this into claude_desktop_config.json.${
        header === undefined ? '' : ` Replace the value of ${variable}.`
      }`,
      language: 'json',
      text: json(claudeDesktop(name, url, header, content)),
    },
    {
      client: 'Cursor',
      use: `Write this into ~/.cursor/mcp.json.${reads('Cursor')}`,
      language: 'json',
      text: json({
        mcpServers: {
          [name]: {
            url,
            ...(header && { headers: { [header.name]: `${header.prefix}\${env:${variable}}` } }),
          },
        },
      }),
    },
    {
      client: 'Codex',
      use: `Write this into ~/.codex/config.toml.${
        login.kind === 'oauth'
          ? ` Then log in with \`codex mcp login ${name}\`.`
          : codexNeeds(header, content)
      }`,
      language: 'toml',
      text: codex(name, url, header),
    },
    {
      client: 'Inspector',
      use: `Run this in a shell.${needs}${
        login.kind === 'oauth' ? ' Without --cli, the Inspector opens a page that can log in.' : ''
      }`,
      language: 'sh',
      text: `npx @modelcontextprotocol/inspector --cli ${shell(url)} --transport http --method tools/list${shown ?? ''}`,
    },
    {
      client: 'TypeScript SDK',
      use: `Install the package with \`npm install @modelcontextprotocol/client\`.${needs}`,
      language: 'ts',
      text: typescriptClient(url, ofProgram),
    },
    {
      client: 'Python SDK',
      use: `Install the package with \`pip install mcp\`.${needs}`,
      language: 'python',
      text: pythonClient(url, ofProgram),
    },
  ];
}

/** The snippets for an HTTP route. */
export function httpSnippets({ url, login }: Endpoint): readonly Snippet[] {
  const header = headerOf(login) ?? (login.kind === 'oauth' ? tokenHeader : undefined);
  return [
    {
      client: 'curl',
      use: `Run this in a shell.${header === undefined ? '' : ` The variable ${header.variable} has ${contentOf(login)}.`}`,
      language: 'sh',
      text: `curl -i ${shell(url)}${
        header === undefined ? '' : ` -H "${header.name}: ${header.prefix}$${header.variable}"`
      }`,
    },
  ];
}

/** The name of a route as clients take it: letters, digits, underscores and hyphens. */
export const clientName = (route: string): string =>
  (route.split('/').at(-1) ?? '').replaceAll(/[^\w-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'gateway';

const tokenHeader: HeaderFrom = { name: 'Authorization', prefix: 'Bearer ', variable: variables.token[0] };

function headerOf(login: ClientLogin): HeaderFrom | undefined {
  if (login.kind !== 'header') return undefined;
  const { prefix, credential } = login;
  const name = login.name.toLowerCase() === 'authorization' ? 'Authorization' : login.name;
  return { name, prefix, variable: variables[credential][0] };
}

const contentOf = (login: ClientLogin): string =>
  variables[login.kind === 'header' ? login.credential : 'token'][1];

function visualStudioCode(name: string, url: string, header: HeaderFrom | undefined): object {
  if (header === undefined) return { servers: { [name]: { type: 'http', url } } };
  const id = `${name}-credential`;
  return {
    inputs: [{ type: 'promptString', id, description: `${header.name} of ${name}`, password: true }],
    servers: {
      [name]: { type: 'http', url, headers: { [header.name]: `${header.prefix}\${input:${id}}` } },
    },
  };
}

/** The file of Claude Desktop takes local servers only, so mcp-remote stands between. */
function claudeDesktop(name: string, url: string, header: HeaderFrom | undefined, content: string): object {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: 'https:', hostname: '' };
  // mcp-remote refuses addresses without TLS on other machines unless it is told.
  const isPlain = protocol === 'http:' && hostname !== 'localhost' && hostname !== '127.0.0.1';
  const args = ['-y', 'mcp-remote', url, ...(isPlain ? ['--allow-http'] : [])];
  if (header === undefined) return { mcpServers: { [name]: { command: 'npx', args } } };
  return {
    mcpServers: {
      [name]: {
        command: 'npx',
        // Some versions tear arguments with a space apart, so the whole value is in the variable.
        args: [...args, '--header', `${header.name}:\${${header.variable}}`],
        env: { [header.variable]: `${header.prefix}<${content.replaceAll('`', '')}>` },
      },
    },
  };
}

const isBearer = ({ name, prefix }: HeaderFrom): boolean => name === 'Authorization' && prefix === 'Bearer ';

function codex(name: string, url: string, header: HeaderFrom | undefined): string {
  const lines = [`[mcp_servers.${name}]`, `url = ${JSON.stringify(url)}`];
  if (header !== undefined)
    lines.push(
      isBearer(header)
        ? `bearer_token_env_var = "${header.variable}"`
        : `env_http_headers = { ${JSON.stringify(header.name)} = "${header.variable}" }`,
    );
  return lines.join('\n');
}

function codexNeeds(header: HeaderFrom | undefined, content: string): string {
  if (header === undefined) return '';
  const before = isBearer(header) || header.prefix === '' ? '' : `\`${header.prefix.trim()}\`, a space and `;
  return ` Codex reads ${before}${content} from its variable ${header.variable}.`;
}

/** A word for a shell, quoted where that is needed. */
const shell = (word: string): string =>
  /^[\w:/.@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

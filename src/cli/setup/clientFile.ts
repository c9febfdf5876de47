import { UsageError } from '../command.ts';
import { freeName, local, remote } from './server.ts';
import type { Server } from './setup.ts';

/** The servers of a client's file, and what the gateway cannot take over, a sentence each. */
export interface Taken {
  readonly servers: readonly Server[];
  readonly left: readonly string[];
}

/** Kind of file → its reader. */
export const clientFiles: Readonly<Record<string, (text: string) => Taken>> = {
  'mcp.json': (text) => entriesOf(readJson(text), ['mcpServers', 'servers']),
  claude: (text) => entriesOf(readJson(text), ['mcpServers']),
  vscode: (text) => entriesOf(readJson(text), ['servers', 'mcp']),
  supergateway,
};

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON with comments and commas before closing brackets, as editors allow it. @throws UsageError */
function readJson(text: string): Fields {
  const plain = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g, (_all, string?: string) => string ?? '')
    .replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_all, string?: string) => string ?? '');
  let value: unknown;
  try {
    value = JSON.parse(plain);
  } catch (error) {
    throw new UsageError(`the file is not JSON: ${(error as Error).message}`);
  }
  if (!isFields(value)) throw new UsageError('the file is not a JSON object');
  return value;
}

/** The entries under the first of the names that a file has. */
function entriesOf(file: Fields, names: readonly string[]): Taken {
  const name = names.find((one) => isFields(file[one]));
  const found = name === undefined ? undefined : file[name];
  // Settings of VS Code have the servers a level deeper.
  const entries = name === 'mcp' && isFields(found) ? found['servers'] : found;
  if (!isFields(entries)) throw new UsageError(`the file has no ${names.join(' or ')}`);
  const servers: Server[] = [];
  const left: string[] = [];
  if (isFields(file['projects']))
    left.push('projects: the servers of single projects; import their .mcp.json');
  for (const [key, entry] of Object.entries(entries)) {
    const read = isFields(entry) ? serverOf(freeName(key, servers), entry, servers, left) : undefined;
    if (read === undefined)
      left.push(`${key}: it is neither a program nor an HTTP server that is switched on`);
    else servers.push(read);
  }
  return { servers, left };
}

const known = new Set([
  'type',
  'transport',
  'command',
  'args',
  'env',
  'cwd',
  'url',
  'serverUrl',
  'headers',
  'disabled',
]);

/** A server of a client, or undefined; says in `left` which of its fields are lost. */
function serverOf(
  name: string,
  entry: Fields,
  others: readonly Server[],
  left: string[],
): Server | undefined {
  if (entry['disabled'] === true) return undefined;
  for (const field of Object.keys(entry))
    if (!known.has(field)) left.push(`${name}.${field}: the gateway has no such setting`);
  const url = entry['url'] ?? entry['serverUrl'];
  const { command } = entry;
  const note = (field: string): void =>
    void left.push(`${name}.${field}: it names a value that only the client knows; set it in .env`);
  const noteLiteral = (field: string, text: unknown): void => {
    if (typeof text === 'string' && isPlaceholder(text))
      left.push(
        `${name}${field}: ${text} names a value that only the client knows; write it into the configuration`,
      );
  };
  if (typeof url === 'string' && URL.canParse(url) && /^https?:/.test(url)) {
    const kind = [entry['type'], entry['transport']].includes('sse') ? 'sse' : 'http';
    noteLiteral('.url', url);
    const headers = valuesOf(entry['headers'], (field) => note(`headers.${field}`));
    return remote(name, { url, kind, headers }, others);
  }
  if (typeof command !== 'string' || command === '') return undefined;
  const args = Array.isArray(entry['args']) ? entry['args'].map(String) : [];
  const bridged = bridgeIn([command, ...args]);
  if (bridged !== undefined) {
    left.push(
      `${name}: mcp-remote logs a user in; give the gateway a credential (backendAuth), if the server needs one`,
    );
    noteLiteral('.url', bridged.url);
    const { headers, unused } = withVariables(bridged.headers, entry['env']);
    for (const key of unused) left.push(`${name}.env.${key}: only mcp-remote uses it`);
    const known = valuesOf(headers, (field) => note(`headers.${field}`));
    return remote(name, { url: bridged.url, kind: 'http', headers: known }, others);
  }
  for (const word of [command, ...args]) noteLiteral('', word);
  const env = valuesOf(entry['env'], (field) => note(`env.${field}`));
  const server = local(name, { command, args, env }, others);
  const { cwd } = entry;
  if (typeof cwd !== 'string') return server;
  noteLiteral('.cwd', cwd);
  const stdio = server.target['stdio'] as Fields;
  return { ...server, target: { ...server.target, stdio: { ...stdio, cwd: cwd.replaceAll('$', '$$$$') } } };
}

/** The client puts a value of its own in, such as that of `${input:key}`. */
const isPlaceholder = (text: string): boolean => /\$\{[^}]*\}/.test(text);

/** A shell puts a value of its own in, such as that of `$TOKEN`. */
const isOfShell = (text: string): boolean => /\$[\w{(]|`/.test(text);

/** Texts by name. A placeholder becomes an empty value, and is reported. */
function valuesOf(
  value: unknown,
  lost: (name: string) => void,
  isUnknown = isPlaceholder,
): Record<string, string> {
  if (!isFields(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => {
      const isLost = isUnknown(String(text));
      if (isLost) lost(name);
      return [name, isLost ? '' : String(text)];
    }),
  );
}

/** The server of `mcp-remote URL`, which connects a client to it over HTTP. The gateway does that itself. */
function bridgeIn(
  words: readonly string[],
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined {
  const at = words.findIndex((word) => /^mcp-remote(?:@[\w.]+)?$/.test(word));
  const url = words.slice(at + 1).find((word) => /^https?:/.test(word));
  if (at < 0 || url === undefined) return undefined;
  const headers = words.flatMap((word, index) => (word === '--header' ? [words[index + 1] ?? ''] : []));
  return { url, headers: headersOf(headers) };
}

/**
 * Headers in which mcp-remote puts variables of its environment, with the placeholders of the client in them.
 * @returns the variables that no header names, too
 */
function withVariables(
  headers: Readonly<Record<string, string>>,
  given: unknown,
): { readonly headers: Readonly<Record<string, string>>; readonly unused: readonly string[] } {
  const env = new Map(isFields(given) ? Object.entries(given) : []);
  const unused = new Set(env.keys());
  const filled = Object.entries(headers).map(([header, text]) => [
    header,
    text.replaceAll(/\$\{(\w+)\}/g, (placeholder, key: string) => {
      unused.delete(key);
      return env.has(key) ? String(env.get(key)) : placeholder;
    }),
  ]);
  return { headers: Object.fromEntries(filled) as Record<string, string>, unused: [...unused] };
}

const headersOf = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines
      .filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
  );

/** Flags of supergateway that the gateway needs no counterpart for, or always has. */
const superfluous = new Set([
  'logLevel',
  'outputTransport',
  'stateful',
  'baseUrl',
  'protocolVersion',
  'port',
  'help',
]);

/** The words of a command line, with the quotes of a shell. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/(?:[^\s"']+|"(?:\\.|[^"\\])*"|'[^']*')+/g)].map(([word]) =>
    word.replaceAll(
      /"((?:\\.|[^"\\])*)"|'([^']*)'/g,
      (_all, double?: string, single?: string) => double?.replaceAll(/\\(.)/g, '$1') ?? single ?? '',
    ),
  );

/** Command lines of supergateway in a script, each of which serves one server. */
function supergateway(text: string): Taken {
  const servers: Server[] = [];
  const left: string[] = [];
  for (const line of text.replaceAll(/\\\r?\n/g, ' ').split('\n')) {
    const words = wordsOf(line);
    const at = words.findIndex((word) => /(?:^|[\s/])supergateway(?:@[\w.]+)?(?::\S+)?$/.test(word));
    if (at < 0 || line.trimStart().startsWith('#')) continue;
    const flags = new Map<string, string[]>();
    words.slice(at + 1).forEach((word, index, all) => {
      const [, name, value] = /^--([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
      if (name === undefined) return;
      const next = all[index + 1];
      flags.set(name, [...(flags.get(name) ?? []), value ?? (next?.startsWith('--') === false ? next : '')]);
    });
    const first = (name: string): string => flags.get(name)?.[0] ?? '';
    const [stdio, sse, http] = [first('stdio'), first('sse'), first('streamableHttp')];
    const url = sse === '' ? http : sse;
    for (const name of flags.keys())
      if (
        !superfluous.has(name) &&
        !['stdio', 'sse', 'streamableHttp', 'header', 'oauth2Bearer'].includes(name)
      )
        left.push(`--${name}: the gateway has no such setting, or another one`);
    if (stdio !== '') {
      // supergateway gives the text to a shell.
      const [command = '', ...args] = wordsOf(stdio);
      const last = args.find((word) => /[@/]/.test(word) && !word.startsWith('-')) ?? args.at(-1) ?? command;
      const name = freeName(last, servers);
      for (const word of [command, ...args].filter(isOfShell))
        left.push(
          `${name}: ${word} names a value that only the shell knows; write it into the configuration`,
        );
      servers.push(local(name, { command, args, env: {} }, servers));
    } else if (URL.canParse(url)) {
      const bearer = first('oauth2Bearer');
      const headers = {
        ...headersOf(flags.get('header') ?? []),
        ...(bearer !== '' && { Authorization: `Bearer ${bearer}` }),
      };
      const name = freeName(new URL(url).hostname, servers);
      const known = valuesOf(
        headers,
        (field) =>
          left.push(`${name}.headers.${field}: it names a value that only the shell knows; set it in .env`),
        isOfShell,
      );
      servers.push(remote(name, { url, kind: sse === '' ? 'http' : 'sse', headers: known }, servers));
    } else left.push(`${line.trim()}: it names no server`);
  }
  if (servers.length === 0)
    throw new UsageError('the file has no command line of supergateway with a server');
  return { servers, left };
}

import { basename } from 'node:path';
import { UsageError } from '../command.ts';
import { literal, variable, type Server } from './setup.ts';

/** A program that is an MCP server on standard input and output. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of its environment, with values that may be secret. */
  readonly env: Readonly<Record<string, string>>;
}

/** An MCP server over HTTP. */
export interface Remote {
  readonly url: string;
  readonly kind: 'http' | 'sse';
  /** Headers of every request, with values that may be secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Programs that run a package of a registry, by the prefix of `--server`. */
const runners: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>> = {
  npm: { command: 'npx', args: ['-y'] },
  pypi: { command: 'uvx', args: [] },
};

/**
 * Reads `[NAME=]npm:PACKAGE ARGS…`, `[NAME=]pypi:PACKAGE ARGS…`, `[NAME=]URL` or `[NAME=]COMMAND ARGS…`.
 * @param others the servers of the set-up so far
 * @throws UsageError
 */
export function readServer(
  text: string,
  env: Readonly<Record<string, string>>,
  others: readonly Server[],
): Server {
  const [, given, spec = ''] = /^(?:([A-Za-z0-9-]+)=)?(.*)$/s.exec(text.trim()) ?? [];
  const [, misnamed] = /^(\w+)=/.exec(spec) ?? [];
  if (misnamed !== undefined)
    throw new UsageError(
      `--server: a name has letters, digits and dashes, and got ${JSON.stringify(misnamed)}`,
    );
  if (/^https?:\/\//.test(spec)) {
    if (!URL.canParse(spec)) throw new UsageError(`--server: ${JSON.stringify(spec)} is not a URL`);
    if (Object.keys(env).length > 0) throw new UsageError(`--env: ${spec} is not a program`);
    return remote(
      given ?? freeName(new URL(spec).hostname, others),
      { url: spec, kind: 'http', headers: {} },
      others,
    );
  }
  const [, prefix, rest = ''] = /^(npm|pypi):(.*)$/s.exec(spec) ?? [];
  const words = wordsOf(prefix === undefined ? spec : rest);
  const [first] = words;
  if (first === undefined) throw new UsageError(`--server: ${JSON.stringify(text)} names no program`);
  const runner = prefix === undefined ? undefined : runners[prefix];
  const program =
    runner === undefined
      ? { command: first, args: words.slice(1), env }
      : { command: runner.command, args: [...runner.args, ...words], env };
  // `node server.js` is better named after the script.
  const script = /^(?:node|python3?|npx|uvx|docker|deno|bun)$/.test(basename(first))
    ? words.slice(1).find((word) => !word.startsWith('-'))
    : undefined;
  return local(given ?? freeName(script ?? first, others), program, others);
}

/** The words of a command line, with the quotes of a shell. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replaceAll(
      /"([^"]*)"|'([^']*)'/g,
      (_all, double?: string, single?: string) => double ?? single ?? '',
    ),
  );
  if (/^(?:[^"']|"[^"]*"|'[^']*')*$/.test(line)) return words;
  throw new UsageError(`--server: a quote is not closed in ${JSON.stringify(line)}`);
}

/** A name for a server, after its package, program or host, that no other server has. */
export function freeName(text: string, others: readonly Server[]): string {
  const last =
    text.split(/[\\/]/).findLast((part) => !/^(?:dist|build|index\.\w+|main\.\w+|)$/.test(part)) ?? text;
  const plain = last
    .replace(/@[\d.]+$/, '')
    .replace(/\.(?:c|m)?[jt]s$|\.py$/, '')
    .replace(/^(?:mcp-)?server-|-mcp(?:-server)?$|^mcp[.-]/g, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return numbered(plain === '' ? 'server' : plain, '-', new Set(others.map(({ name }) => name)));
}

/** The name, with a number behind it where it is taken. */
function numbered(name: string, separator: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name}${separator}${String(count)}`;
  return free;
}

/**
 * Gives each key of a server a variable of `.env` that no other key and no other server has: two keys that differ only in
 * case or signs would otherwise share one secret.
 */
function variablesFor(
  server: string,
  keys: readonly string[],
  others: readonly Server[],
): ReadonlyMap<string, string> {
  const taken = new Set(others.flatMap(({ secrets }) => Object.keys(secrets)));
  const variables = new Map<string, string>();
  for (const key of keys) {
    const plain = `${server}_${key}`
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=\d)/, '_');
    const named = numbered(plain, '_', taken);
    taken.add(named);
    variables.set(key, named);
  }
  return variables;
}

/** A target that the gateway runs as a child process. Values of its environment go to `.env`. */
export function local(name: string, { command, args, env }: Program, others: readonly Server[]): Server {
  const variables = variablesFor(name, Object.keys(env), others);
  const own = [...variables].map(([key, named]) => ({ key, named, value: env[key] ?? '' }));
  return {
    name,
    target: {
      stdio: {
        cmd: literal(command),
        ...(args.length > 0 && { args: args.map(literal) }),
        ...(own.length > 0 && {
          env: Object.fromEntries(own.map(({ key, named }) => [key, variable(named)])),
        }),
      },
    },
    secrets: Object.fromEntries(own.map(({ value, named }) => [named, value])),
  };
}

/** A target over HTTP. Values of headers go to `.env`. */
export function remote(name: string, { url, kind, headers }: Remote, others: readonly Server[]): Server {
  const variables = variablesFor(name, Object.keys(headers), others);
  const secrets: Record<string, string> = {};
  const set: Record<string, string> = {};
  let key: string | undefined;
  for (const [header, named] of variables) {
    const value = headers[header] ?? '';
    const [, token] = /^authorization$/i.test(header) ? (/^bearer (\S+)$/i.exec(value) ?? []) : [];
    secrets[named] = token ?? value;
    if (token === undefined) set[header] = variable(named);
    else key = variable(named);
  }
  const policies = {
    ...(key !== undefined && { backendAuth: { key: { value: key } } }),
    ...(Object.keys(set).length > 0 && { requestHeaderModifier: { set } }),
  };
  return {
    name,
    target: {
      [kind === 'http' ? 'mcp' : 'sse']: { host: literal(url) },
      ...(Object.keys(policies).length > 0 && { policies }),
    },
    secrets,
  };
}

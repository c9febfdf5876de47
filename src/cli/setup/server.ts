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
 * @param taken names of other servers
 * @throws UsageError
 */
export function readServer(
  text: string,
  env: Readonly<Record<string, string>>,
  taken: ReadonlySet<string>,
): Server {
  const [, given, spec = ''] = /^(?:([A-Za-z0-9-]+)=)?(.*)$/s.exec(text.trim()) ?? [];
  if (/^https?:\/\//.test(spec)) {
    if (!URL.canParse(spec)) throw new UsageError(`--server: ${JSON.stringify(spec)} is not a URL`);
    if (Object.keys(env).length > 0) throw new UsageError(`--env: ${spec} is not a program`);
    return remote(given ?? freeName(new URL(spec).hostname, taken), { url: spec, kind: 'http', headers: {} });
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
  return local(given ?? freeName(script ?? first, taken), program);
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
export function freeName(text: string, taken: ReadonlySet<string>): string {
  const last =
    text.split(/[\\/]/).findLast((part) => !/^(?:dist|build|index\.\w+|main\.\w+|)$/.test(part)) ?? text;
  const plain = last
    .replace(/@[\d.]+$/, '')
    .replace(/\.(?:c|m)?[jt]s$|\.py$/, '')
    .replace(/^(?:mcp-)?server-|-mcp(?:-server)?$|^mcp[.-]/g, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  const name = plain === '' ? 'server' : plain;
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name}-${String(count)}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** A variable of `.env` for a value of a server. */
const variableFor = (server: string, key: string): string =>
  `${server}_${key}`
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');

/** A target that the gateway runs as a child process. Values of its environment go to `.env`. */
export function local(name: string, { command, args, env }: Program): Server {
  const own = Object.entries(env).map(([key, value]) => ({ key, value, named: variableFor(name, key) }));
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
export function remote(name: string, { url, kind, headers }: Remote): Server {
  const secrets: Record<string, string> = {};
  const set: Record<string, string> = {};
  let key: string | undefined;
  for (const [header, value] of Object.entries(headers)) {
    const named = variableFor(name, header);
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

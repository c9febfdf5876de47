import { readFileSync } from 'node:fs';
import { messageOf } from '../errorText.ts';
import type { Decision } from '../proxy/contract.ts';
import type { Logger } from '../telemetry/index.ts';
import { UsageError, type Command, type Flags } from './command.ts';
import { exitCode } from './exitCode.ts';
import { configurationFlags, givenConfiguration } from './givenConfiguration.ts';

export const why: Command = {
  summary: 'explain what the gateway would do with a request, and why',
  usage: '[FILE] --request REQUEST',
  flags: {
    ...configurationFlags,
    request: {
      type: 'string',
      value: 'FILE',
      help: 'the request as on the wire: request line, header lines, an empty line, body; - reads it from standard input',
    },
    claims: {
      type: 'string',
      value: 'FILE',
      help: 'JSON with the claims of the caller, in place of a token',
    },
    token: { type: 'string', value: 'TOKEN', help: 'bearer token of the caller, added as Authorization' },
    port: {
      type: 'string',
      value: 'PORT',
      help: 'port of the listener; the port in Host, or the first one, by default',
    },
    client: { type: 'string', value: 'ADDRESS', help: 'address of the client; 127.0.0.1 by default' },
    json: { type: 'boolean', help: 'print the decision as JSON' },
  },
  positionals: 1,
  async run(flags, positionals, terminal) {
    const asked = askedIn(flags);
    const given = givenConfiguration(flags, positionals);
    // Loaded here, so that the command line starts without the reader of configurations.
    const { loadToShow } = await import('./configuration.ts');
    const result = loadToShow(given, terminal);
    if (result === undefined) return exitCode.invalid;
    // Loaded here, so that other commands start without the code of the data plane.
    const { explainOffline } = await import('../workers/index.ts');
    const problems = new Set<string>();
    let decision: Decision;
    try {
      decision = await explainOffline(result.model, asked, logTo(problems));
    } catch (error) {
      terminal.err(`portcullis: ${messageOf(error)}\n`);
      return exitCode.failed;
    }
    for (const problem of problems) terminal.err(`warning: ${problem}\n`);
    if (flags['json'] === true) {
      const { hideInData } = await import('../telemetry/index.ts');
      terminal.out(`${JSON.stringify(hideInData(decision), null, 2)}\n`);
      return exitCode.ok;
    }
    const { decisionTree } = await import('./decisionTree.ts');
    terminal.out(decisionTree(decision));
    return exitCode.ok;
  },
};

/** @throws UsageError */
function askedIn({ request, claims, token, port, client }: Flags) {
  if (typeof request !== 'string') throw new UsageError('--request is missing');
  if (typeof claims === 'string' && typeof token === 'string')
    throw new UsageError('give either --claims or --token');
  const text = read('--request', request);
  return {
    request: typeof token === 'string' ? withToken(text, token) : text,
    ...(typeof claims === 'string' ? { claims: claimsOf(read('--claims', claims)) } : {}),
    ...(typeof port === 'string' ? { port: portOf(port) } : {}),
    ...(typeof client === 'string' ? { client } : {}),
  };
}

function read(flag: string, file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`${flag}: ${messageOf(error)}`);
  }
}

function claimsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(text);
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims))
      return claims as Readonly<Record<string, unknown>>;
  } catch {
    // The same message says what is expected.
  }
  throw new UsageError('--claims: expected a JSON object');
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError('--port: expected a number up to 65535');
  return port;
}

/** The line goes behind the request line. */
function withToken(request: string, token: string): string {
  const end = request.indexOf('\n');
  const [line, rest] = end < 0 ? [request, ''] : [request.slice(0, end), request.slice(end + 1)];
  return `${line}\nauthorization: Bearer ${token.trim()}\n${rest}`;
}

/** Problems that the compilation logs, such as a file that cannot be read. */
function logTo(problems: Set<string>): Logger {
  const told: Logger['warn'] = (message, fields) =>
    void problems.add(
      [message, ...Object.entries(fields ?? {}).map(([name, value]) => `${name}=${String(value)}`)].join(' '),
    );
  const log: Logger = { debug: () => {}, info: () => {}, warn: told, error: told, child: () => log };
  return log;
}

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { messageOf } from '../../errorText.ts';
import type { Environment } from '../../config/index.ts';
import { ownProgram } from '../ownProgram.ts';
import { version } from '../../version.ts';
import type { Server } from './setup.ts';

/** The tools of a server, or the reason why they are unknown. */
export type Listed = { readonly tools: readonly string[] } | { readonly problem: string };

/** The first start of a package may have to fetch it. */
const timeoutMs = 180_000;
const maxPages = 64;
/** The last characters of the log, which tell why a server does not start. */
const keptLog = 4_000;
const keptReasons = 3;
const revision = '2025-11-25';

interface Answer {
  readonly id?: unknown;
  readonly result?: { readonly tools?: readonly { readonly name: string }[]; readonly nextCursor?: string };
  readonly error?: { readonly message?: string };
}

/** Starts a server behind a gateway without ports, and lists its tools. Never rejects. */
export async function listTools({ name, target, secrets }: Server, env: Environment): Promise<Listed> {
  const route = { name: 'mcp', backends: [{ mcp: { targets: [{ name, ...target }] } }] };
  const configuration = { binds: [{ port: 0, listeners: [{ routes: [route] }] }] };
  const { file, args } = ownProgram();
  // Without the arguments of this command: those up to the one behind `--` run the program.
  const program = args.slice(0, args.indexOf('--') + 2);
  const child = spawn(file, [...program, 'stdio', '-c', JSON.stringify(configuration)], {
    env: { ...env, ...secrets },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const timer = setTimeout(() => child.kill(), timeoutMs);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-keptLog)));
  // The end of the child is the end of its output, which is reported.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolve) =>
    child.on('close', () => resolve()).on('error', () => resolve()),
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = async (id: number, method: string, params: object): Promise<NonNullable<Answer['result']>> => {
    send({ id, method, params });
    for (;;) {
      const line = await lines.next();
      if (line.done === true) throw new Error('the server ended');
      const answer = JSON.parse(line.value) as Answer;
      if (answer.id !== id) continue;
      if (answer.result !== undefined) return answer.result;
      throw new Error(answer.error?.message ?? 'an answer without a result');
    }
  };
  let problem: string;
  try {
    const clientInfo = { name: 'portcullis', version: version() };
    await ask(0, 'initialize', { protocolVersion: revision, capabilities: {}, clientInfo });
    send({ method: 'notifications/initialized' });
    const tools: string[] = [];
    let cursor: string | undefined;
    for (let page = 1; page <= maxPages; page++) {
      const { tools: more = [], nextCursor } = await ask(
        page,
        'tools/list',
        cursor === undefined ? {} : { cursor },
      );
      tools.push(...more.map((tool) => tool.name));
      cursor = nextCursor;
      if (cursor === undefined) return { tools };
    }
    problem = `the list of tools has more than ${String(maxPages)} pages`;
  } catch (error) {
    problem = messageOf(error);
  } finally {
    clearTimeout(timer);
    child.stdin.end();
    await ended;
  }
  // The log says more, such as the message with which a program ended.
  const reasons = log
    .split('\n')
    .filter((line) => / (?:WARN|ERROR) /.test(line))
    .map((line) => `\n  ${line.replace(/^\S+ +/, '')}`);
  return { problem: `${problem}${reasons.slice(-keptReasons).join('')}` };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The newest version of the suite, which is written for RFC 7540. */
const version = 'v2.2.1+incompatible';
const module = 'github.com/summerwind/h2spec/cmd/h2spec';
const cache = fileURLToPath(new URL('../../../.cache/h2spec/', import.meta.url));

/** A case of the suite. */
export interface Case {
  /** Section and sentence, unique. */
  readonly id: string;
  readonly passed: boolean;
}

/** Runs a command to its end. @throws Error with its output when it fails */
async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}:\n${output}`);
}

/** The suite's program, built where it is not there yet. @throws Error where Go or the module cannot be had */
export async function suiteProgram(): Promise<string> {
  const program = join(cache, 'h2spec');
  if (!existsSync(program)) {
    mkdirSync(cache, { recursive: true });
    await run('go', ['install', `${module}@${version}`], { GOBIN: cache });
  }
  return program;
}

/** Runs the whole suite against a port on the loopback interface, under TLS or not. */
export async function runSuite(program: string, port: number, tls: boolean): Promise<readonly Case[]> {
  const report = join(cache, `report-${process.pid}.xml`);
  const args = ['--host', '127.0.0.1', '--port', String(port), '--path', '/get'];
  const child = spawn(
    program,
    [
      ...(tls ? ['--tls', '--insecure'] : []),
      ...args,
      '--strict',
      '--timeout',
      '2',
      '--junit-report',
      report,
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  // It ends with 1 when a case fails: what failed is read from the report.
  await once(child, 'close');
  return readReport(readFileSync(report, 'utf8'));
}

/** The cases of a JUnit report. @throws Error where there are none */
export function readReport(xml: string): readonly Case[] {
  const cases: Case[] = [];
  const seen = new Map<string, number>();
  for (const [, attributes = '', content = ''] of xml.matchAll(
    /<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    const name = `${attribute(attributes, 'package')}: ${attribute(attributes, 'classname')}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    cases.push({
      id: count === 1 ? name : `${name} (${count})`,
      passed: !/<(?:failure|error|skipped)\b/.test(content),
    });
  }
  if (cases.length === 0) throw new Error('the report has no case');
  return cases;
}

const entities: Readonly<Record<string, string>> = {
  '&#34;': '"',
  '&quot;': '"',
  '&#39;': "'",
  '&apos;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
};

function attribute(text: string, name: string): string {
  const value = new RegExp(`${name}="([^"]*)"`).exec(text)?.[1] ?? '';
  return value.replaceAll(/&(?:#\d+|\w+);/g, (entity) => entities[entity] ?? entity);
}

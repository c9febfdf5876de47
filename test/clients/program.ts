import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program of a client to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const child = spawn(command, [...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const written = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...written };
}

/**
 * Runs a program of a client that prints one JSON value.
 * @throws Error with its output where it fails
 */
export async function printedJson(
  command: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { code, out, err } = await runProgram(command, args, env);
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${out}\n${err}`);
  return JSON.parse(out);
}

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readRequests } from '../../fuzz/llhttp.ts';
import type { Reading } from '../../fuzz/seen.ts';
import { readAll, strict } from './reader.ts';
import { difference } from './readers.ts';

/** Python packages of servers whose readers can be called by themselves. */
const packages = ['h11==0.16.0', 'gunicorn==27.0.1', 'waitress==3.0.2'];

const cache = fileURLToPath(new URL('../../../.cache/http-readers/', import.meta.url));
const source = (name: string): string => fileURLToPath(new URL(`readers/${name}`, import.meta.url));

/** Bytes that a gateway passed on, as one connection had them. */
export interface Piece {
  /** The case they come from. */
  readonly id: string;
  readonly text: string;
}

/** A reader of requests that is not ours. */
export interface OtherReader {
  readonly name: string;
  read(texts: readonly string[]): Promise<readonly Readonly<Record<string, Reading>>[]>;
}

/** llhttp as Node sets it up, strict and lenient. */
export const llhttp: OtherReader = {
  name: 'llhttp',
  async read(texts) {
    const results: Record<string, Reading>[] = [];
    for (let at = 0; at < texts.length; at += 200) {
      const batch = texts.slice(at, at + 200).map((text) => Buffer.from(text, 'latin1'));
      const strictly = await readRequests(batch);
      const leniently = await readRequests(batch, true);
      for (const [i, reading] of strictly.entries())
        results.push({ llhttp: reading, 'llhttp, lenient': leniently[i] as Reading });
    }
    return results;
  },
};

/** h11, gunicorn and waitress, fetched from their registry; or why they are not to be had. */
export function pythonReaders(): OtherReader | { readonly missing: string } {
  const folder = `${cache}python`;
  try {
    if (!existsSync(`${folder}/waitress`)) {
      mkdirSync(cache, { recursive: true });
      const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', folder];
      execFileSync('python3', [...args, ...packages], { stdio: ['ignore', 'pipe', 'pipe'] });
    }
  } catch (error) {
    return { missing: `Python readers: ${(error as Error).message.split('\n')[0] ?? ''}` };
  }
  return program('Python readers', 'python3', [source('read.py')], { PYTHONPATH: folder });
}

/** net/http of Go, built where it is not there yet; or why it is not to be had. */
export async function goReader(): Promise<OtherReader | { readonly missing: string }> {
  const binary = `${cache}read`;
  try {
    mkdirSync(cache, { recursive: true });
    await promisify(execFile)('go', ['build', '-o', binary, source('read.go')]);
  } catch (error) {
    return { missing: `net/http: ${(error as Error).message.split('\n')[0] ?? ''}` };
  }
  return program('net/http', binary, [], {});
}

interface Answer {
  readonly messages: readonly {
    readonly start: string;
    readonly target: string;
    readonly host: string;
    readonly body: string;
  }[];
  readonly refusal: string | null;
  readonly closed: boolean;
}

/** A reader that runs as a program: a line in, a line out. */
function program(
  name: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): OtherReader {
  return {
    name,
    async read(texts) {
      const child = spawn(command, args, {
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const ended = once(child, 'close');
      const output = textOf(child.stdout);
      child.stdin.end(
        texts.map((text) => `${JSON.stringify(Buffer.from(text, 'latin1').toString('base64'))}\n`).join(''),
      );
      await ended;
      const lines = (await output).trim().split('\n');
      if (lines.length !== texts.length) throw new Error(`${name} read ${lines.length} of ${texts.length}`);
      return lines.map((line) =>
        Object.fromEntries(
          Object.entries(JSON.parse(line) as Record<string, Answer>).map(([reader, answer]) => [
            reader,
            readingOf(answer),
          ]),
        ),
      );
    },
  };
}

const readingOf = ({ messages, refusal, closed }: Answer): Reading => ({
  messages: messages.map(({ start, target, host, body }) => ({
    start,
    target,
    fields: [['host', host]],
    body: Buffer.from(body, 'base64').toString('latin1'),
    complete: true,
  })),
  refusal: refusal ?? undefined,
  closed,
});

/** Habits that are no other reading of a message, by reader. */
const excused: readonly { readonly reader: RegExp; readonly reason: string; holds(text: string): boolean }[] =
  [
    {
      reader: /^llhttp/,
      reason:
        'it leaves the connection to an upgrade that it was asked for; the gateway sends nothing behind one before its answer',
      holds: (text) => /\r\nupgrade:/i.test(text),
    },
    {
      reader: /^gunicorn$/,
      reason: 'it takes the end of the connection for the end of the body',
      holds: (text) => readAll(text, 'request', strict).messages.some(({ complete }) => !complete),
    },
  ];

/** The result of a comparison. */
export interface Agreement {
  /** The differences of the readers from the strict one, by case. */
  readonly problems: readonly { readonly id: string; readonly problem: string }[];
  /** Whole messages that a reader took, all readers added up. */
  readonly agreed: number;
}

export async function compareReaders(
  readers: readonly OtherReader[],
  pieces: readonly Piece[],
): Promise<Agreement> {
  const problems: { id: string; problem: string }[] = [];
  let agreed = 0;
  for (const reader of readers) {
    const results = await reader.read(pieces.map(({ text }) => text));
    for (const [i, result] of results.entries()) {
      const { id, text } = pieces[i] as Piece;
      const reference = readAll(text, 'request', strict);
      for (const [name, reading] of Object.entries(result)) {
        if (excused.some(({ reader: habit, holds }) => habit.test(name) && holds(text))) continue;
        const problem = difference(reference, reading);
        agreed += reading.messages.filter(({ complete }) => complete).length;
        if (problem !== undefined)
          problems.push({ id, problem: `${name} ${problem}: ${JSON.stringify(text)}` });
      }
    }
  }
  return { problems, agreed };
}

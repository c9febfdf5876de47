import { randomBytes } from 'node:crypto';
import type { ApiBody, ApiPart } from '../../../model/index.ts';
import { ArgumentError } from './callArguments.ts';
import { isNested, readValue } from './longNumber.ts';
import { checkDeepNames, checkMembers } from './memberNames.ts';
import { isGiven, pairsOf, textOf, type Pair } from './parameterText.ts';

/** A request body with the media type that its head names. */
export interface WrittenBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/**
 * The body of a request, made of the argument `body`.
 * @param text as the client wrote it
 * @throws ArgumentError
 */
export function writeBody(body: ApiBody, text: string): WrittenBody {
  switch (body.form) {
    case 'json':
      // As it was written: another writer could lose digits of a number.
      return { type: body.type, bytes: Buffer.from(text) };
    case 'form':
      return { type: body.type, bytes: Buffer.from(formText(body, entriesOf(text))) };
    case 'multipart': {
      const boundary = randomBytes(16).toString('hex');
      return {
        type: `${withoutBoundary(body.type)}; boundary=${boundary}`,
        bytes: multipart(body, text, boundary),
      };
    }
    case 'text':
      return { type: body.type, bytes: Buffer.from(stringOf(text, 'text')) };
    case 'bytes':
      return { type: body.type, bytes: bytesOf(stringOf(text, 'base64'), 'body') };
  }
}

const withoutBoundary = (type: string): string => type.split(';')[0]?.trim() ?? type;

function stringOf(text: string, expected: string): string {
  const value = readValue(text);
  if (typeof value !== 'string') throw new ArgumentError(`body: expected ${expected} in a string`);
  return value;
}

function entriesOf(text: string): readonly (readonly [string, unknown])[] {
  const value = readValue(text);
  if (!isNested(value) || Array.isArray(value)) throw new ArgumentError('body: expected an object');
  return Object.entries(value).filter(([, one]) => isGiven(one));
}

const usual = { style: 'form', explode: true } as const;

/** Pairs as HTML forms write them (application/x-www-form-urlencoded). */
function formText(
  { parts = {}, names = [] }: ApiBody,
  entries: readonly (readonly [string, unknown])[],
): string {
  const given = entries.map(([name, value]) => ({ name, value, part: partOf(parts, name) }));
  checkMembers(
    'body',
    given.flatMap(({ name, value, part }) =>
      part?.value === undefined ? [] : [{ name, value, form: part.value }],
    ),
    [...names, ...given.map(({ name }) => name)],
  );
  const deep = Object.keys(parts).filter((name) => parts[name]?.value?.style === 'deepObject');
  const formless = given.filter(({ part }) => part === undefined).map(({ name }) => name);
  checkDeepNames('body', deep, formless);
  return given
    .flatMap(({ name, value, part }): readonly Pair[] => {
      if (part?.value !== undefined) return pairsOf(name, value, part.value);
      // Objects have no usual form among pairs, so they are JSON, each element of a list for itself.
      const plain = Array.isArray(value) ? value : isNested(value) ? JSON.stringify(value) : value;
      return pairsOf(name, plain, usual);
    })
    .map((pair) => pair.map((text) => text.replaceAll('%20', '+')).join('='))
    .join('&');
}

const partOf = (parts: Readonly<Record<string, ApiPart>>, name: string): ApiPart | undefined =>
  Object.hasOwn(parts, name) ? parts[name] : undefined;

/** Parts behind boundaries (RFC 7578). */
function multipart({ parts = {} }: ApiBody, text: string, boundary: string): Buffer {
  const pieces: Buffer[] = [];
  for (const [name, value] of entriesOf(text)) {
    const part = partOf(parts, name);
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      pieces.push(...piece(name, one, part, boundary));
  }
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

function piece(name: string, value: unknown, part: ApiPart | undefined, boundary: string): readonly Buffer[] {
  const key = quoted(name);
  const isFile = part?.bytes === true;
  if (isFile && typeof value !== 'string')
    throw new ArgumentError(`body: ${name}: expected base64 in a string`);
  const type =
    part?.type ?? (isFile ? 'application/octet-stream' : isNested(value) ? 'application/json' : undefined);
  const content = isFile ? bytesOf(value as string, name) : Buffer.from(textOf(value));
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="${key}"${isFile ? `; filename="${key}"` : ''}\r\n` +
    (type === undefined ? '' : `Content-Type: ${type}\r\n`);
  return [Buffer.from(`${head}\r\n`), content, Buffer.from('\r\n')];
}

/** HTML, "Multipart form data": a name cannot end its quotes or its line. */
const quoted = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

function bytesOf(text: string, name: string): Buffer {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw new ArgumentError(`${name}: expected base64`);
  return Buffer.from(text, 'base64');
}

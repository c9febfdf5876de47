import { createHash, randomUUID } from 'node:crypto';
import { CelScalar, celFunc, isCelList, isCelMap, mapType } from '@bufbuild/cel';
import type { CelFunc, CelMap, CelValue } from '@bufbuild/cel';
import { fromCel, toCel } from '../values.ts';

const { BYTES, DOUBLE, DYN, STRING } = CelScalar;
const MAP = mapType(DYN, DYN);

const text = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const hex = (algorithm: string, value: string | Uint8Array): string =>
  createHash(algorithm).update(value).digest('hex');

/** JSON, base64, URLs, forms, digests, and what is new each time. */
export const encodingFunctions: readonly CelFunc[] = [
  celFunc('json', [STRING], DYN, (value) => toCel(JSON.parse(value))),
  celFunc('json', [BYTES], DYN, (bytes) => toCel(JSON.parse(text(bytes)))),
  celFunc('toJson', [DYN], STRING, (value) => JSON.stringify(fromCel(value as CelValue))),
  celFunc('unvalidatedJwtPayload', [STRING], DYN, jwtPayload),

  celFunc('base64.encode', [STRING], STRING, (value) => Buffer.from(value).toString('base64')),
  celFunc('base64.encode', [BYTES], STRING, (bytes) => Buffer.from(bytes).toString('base64')),
  celFunc('base64.decode', [STRING], BYTES, (value) => decoded(value, 'base64')),

  celFunc('url.encode', [STRING], STRING, percentEncoded),
  celFunc('url.decode', [STRING], STRING, (value) => decodeURIComponent(value)),
  celFunc('form.decode', [STRING], MAP, formMap),
  celFunc('form.decode', [BYTES], MAP, (bytes) => formMap(text(bytes))),
  celFunc('form.encode', [MAP], STRING, formText),

  ...['sha1', 'sha256', 'md5'].flatMap((algorithm) => [
    celFunc(`${algorithm}.encode`, [STRING], STRING, (value) => hex(algorithm, value)),
    celFunc(`${algorithm}.encode`, [BYTES], STRING, (bytes) => hex(algorithm, bytes)),
  ]),
  celFunc('random', [], DOUBLE, () => Math.random()),
  celFunc('uuid', [], STRING, () => randomUUID()),
];

/** RFC 3986 §2.3: everything but the unreserved characters. */
export function percentEncoded(value: string): string {
  return encodeURIComponent(value).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Strict: what does not come out the same again is not base64. */
function decoded(value: string, encoding: 'base64' | 'base64url'): Uint8Array {
  const bytes = Buffer.from(value, encoding);
  if (unpadded(bytes.toString(encoding)) !== unpadded(value)) throw new Error(`not ${encoding}`);
  return new Uint8Array(bytes);
}

/** By hand: a pattern for the end of a text is tried at each of its places. */
function unpadded(value: string): string {
  let end = value.length;
  while (end > 0 && value.charCodeAt(end - 1) === 61) end -= 1;
  return value.slice(0, end);
}

function jwtPayload(token: string) {
  const parts = token.split('.');
  if (parts.length !== 3) throw new Error('not a token of three parts');
  return toCel(JSON.parse(text(decoded(parts[1] ?? '', 'base64url'))));
}

/** A single value is a text, several are a list. */
function formMap(form: string): Map<string, string | string[]> {
  const map = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(form)) {
    const known = map.get(name);
    if (known === undefined) map.set(name, value);
    else if (typeof known === 'string') map.set(name, [known, value]);
    else known.push(value);
  }
  return map;
}

function formText(map: CelMap): string {
  const form = new URLSearchParams();
  const names = [...map.keys()].map((key) => {
    if (typeof key !== 'string') throw new Error('a form has only names that are texts');
    return key;
  });
  for (const name of names.sort()) {
    const value = map.get(name);
    for (const one of isCelList(value) ? value : [value]) if (one !== null) form.append(name, formValue(one));
  }
  return form.toString();
}

function formValue(value: unknown): string {
  if (isCelMap(value) || isCelList(value)) throw new Error('a form has no nested values');
  return String(fromCel(value));
}

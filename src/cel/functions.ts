import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import {
  CelScalar,
  celFunc,
  celMethod,
  isCelList,
  isCelMap,
  isCelUint,
  listType,
  mapType,
} from '@bufbuild/cel';
import type { CelFunc, CelInput, CelMap, CelValue } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { RE2JS } from 're2js';
import { step } from './limits.ts';
import { toCel } from './values.ts';

const { BOOL, BYTES, DYN, STRING } = CelScalar;
const LIST = listType(DYN);
const MAP = mapType(DYN, DYN);

/** Names that the rewriting of `compile.ts` calls; they hold characters no source text can. */
export const internal = { step: '@step', cidrContains: '@cidr_contains' } as const;

const hex = (algorithm: string, value: string | Uint8Array): string =>
  createHash(algorithm).update(value).digest('hex');

/** Functions of the format beyond the standard ones. */
export const functions: readonly CelFunc[] = [
  ...strings,
  celMethod('stripPrefix', STRING, [STRING], STRING, function (prefix) {
    return this.startsWith(prefix) ? this.slice(prefix.length) : String(this);
  }),
  celMethod('stripSuffix', STRING, [STRING], STRING, function (suffix) {
    return this.endsWith(suffix) ? this.slice(0, this.length - suffix.length) : String(this);
  }),
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    return regex(pattern).test(String(this));
  }),
  celFunc('matches', [STRING, STRING], BOOL, (text, pattern) => regex(pattern).test(text)),
  celMethod('regexReplace', STRING, [STRING, STRING], STRING, function (pattern, replacement) {
    return regex(pattern).matcher(String(this)).replaceAll(replacement);
  }),

  celFunc('json', [STRING], DYN, (text) => toCel(JSON.parse(text))),
  celFunc('json', [BYTES], DYN, (bytes) => toCel(JSON.parse(Buffer.from(bytes).toString('utf8')))),
  celFunc('toJson', [DYN], STRING, (value) => JSON.stringify(fromCel(value as CelValue))),
  celFunc('base64.encode', [STRING], STRING, (text) => Buffer.from(text).toString('base64')),
  celFunc('base64.encode', [BYTES], STRING, (bytes) => Buffer.from(bytes).toString('base64')),
  celFunc('base64.decode', [STRING], BYTES, (text) => {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, ''))
      throw new Error('not base64');
    return new Uint8Array(bytes);
  }),
  celFunc('url.encode', [STRING], STRING, (text) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  ),
  celFunc('url.decode', [STRING], STRING, (text) => decodeURIComponent(text)),
  ...['sha1', 'sha256', 'md5'].flatMap((algorithm) => [
    celFunc(`${algorithm}.encode`, [STRING], STRING, (text) => hex(algorithm, text)),
    celFunc(`${algorithm}.encode`, [BYTES], STRING, (bytes) => hex(algorithm, bytes)),
  ]),
  celMethod('merge', MAP, [MAP], MAP, function (other) {
    return new Map([...entries(this), ...entries(other)]);
  }),

  celFunc('isIP', [STRING], BOOL, (text) => isIP(text) !== 0),
  celFunc(internal.cidrContains, [STRING, STRING], BOOL, cidrContains),

  // Header views (`request.headers.raw()` and so on)
  celMethod('raw', MAP, [], MAP, function () {
    return headerView(this, (lines) => lines);
  }),
  celMethod('split', MAP, [], MAP, function () {
    return headerView(this, (lines) => lines.flatMap((line) => line.split(',').map((part) => part.trim())));
  }),
  celMethod('join', MAP, [], MAP, function () {
    return headerView(this, (lines) => lines.join(','));
  }),
  celMethod('cookie', MAP, [STRING], STRING, function (name) {
    for (const line of headerLines(this.get('cookie')))
      for (const pair of line.split(';')) {
        const equals = pair.indexOf('=');
        if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
      }
    throw new Error(`no such cookie: ${name}`);
  }),
  celMethod('query', STRING, [STRING], LIST, function (name) {
    const mark = this.indexOf('?');
    const values = mark < 0 ? [] : new URLSearchParams(this.slice(mark + 1)).getAll(name);
    if (values.length === 0) throw new Error(`no such query parameter: ${name}`);
    return values;
  }),

  celFunc(internal.step, [BOOL], BOOL, step),
];

/** Functions of the format that are refused by name. */
export const refusedFunctions: ReadonlySet<string> = new Set([
  ...['unvalidatedJwtPayload', 'with', 'variables', 'mapValues', 'filterKeys', 'flatten', 'flattenRecursive'],
  ...['form.decode', 'form.encode', 'random', 'uuid', 'default', 'coalesce', 'fail', 'max', 'min'],
  ...['least', 'greatest', 'ceil', 'floor', 'round', 'trunc', 'isInf', 'isNaN', 'isFinite', 'abs', 'sign']
    .concat(['sqrt', 'bitAnd', 'bitOr', 'bitXor', 'bitNot', 'bitShiftLeft', 'bitShiftRight'])
    .map((name) => `math.${name}`),
  ...['ip', 'cidr', 'family', 'isUnspecified', 'isLoopback', 'isLinkLocalMulticast', 'isLinkLocalUnicast'],
  ...['isGlobalUnicast', 'containsIP', 'containsCIDR', 'masked', 'prefixLength'],
  ...['redacted', 'unredacted', 'addQuery', 'setQuery'],
]);

/** Compiled patterns: RE2, so that no pattern and no text takes more than linear time. Bounded. */
const patterns = new Map<string, RE2JS>();

function regex(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const compiled = RE2JS.compile(pattern);
  if (patterns.size >= 256) patterns.clear();
  patterns.set(pattern, compiled);
  return compiled;
}

/** What is wrong with a constant argument of these functions. */
export function argumentProblem(name: string, text: string): string | undefined {
  try {
    if (name === 'matches' || name === 'regexReplace') regex(text);
    if (name === internal.cidrContains) cidrContains(text, '127.0.0.1');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** @throws Error for anything that is not an address in CIDR notation or a plain address */
function cidrContains(range: string, address: string): boolean {
  const [network = '', bits = '', ...rest] = range.split('/');
  const version = isIP(network);
  const prefix = /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (version === 0 || rest.length > 0 || prefix < 0 || prefix > (version === 4 ? 32 : 128))
    throw new Error(`not an address range: ${range}`);
  const plain = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
  const kind = isIP(plain);
  if (kind === 0) throw new Error(`not an IP address: ${address}`);
  if (kind !== version) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  return list.check(plain, family);
}

const entries = (map: CelMap): [CelInput & (string | bigint | boolean), CelInput][] =>
  [...map.entries()] as [CelInput & (string | bigint | boolean), CelInput][];

function headerLines(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return isCelList(value) ? [...value].map(String) : [];
}

function headerView(headers: CelMap, view: (lines: string[]) => string | string[]): Map<string, CelInput> {
  return new Map([...headers.entries()].map(([name, value]) => [String(name), view(headerLines(value))]));
}

/** Back to what JSON can say; anything else is an error. */
export function fromCel(value: unknown): unknown {
  if (value === null || ['string', 'boolean', 'number'].includes(typeof value)) return value;
  if (typeof value === 'bigint') {
    if (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER))
      throw new Error('integer out of range for JSON');
    return Number(value);
  }
  if (isCelUint(value)) return fromCel(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (isCelList(value)) return [...value].map(fromCel);
  if (isCelMap(value))
    return Object.fromEntries([...value.entries()].map(([key, item]) => [String(key), fromCel(item)]));
  throw new Error('the value has no JSON form');
}

/** Signatures of AWS, version 4 (AWS IAM User Guide, "Create a signed AWS API request"). */

import { createHash, createHmac } from 'node:crypto';
import type { HeaderLine } from '../../http/index.ts';

/** A credential of AWS. Only the id may stand in a log. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Accompanies keys that end. */
  readonly sessionToken?: string;
}

/** The part of AWS that a signature is good for. */
export interface SigningScope {
  readonly region: string;
  /** The signing name of the service, such as `bedrock` or `execute-api`. */
  readonly service: string;
}

/** The parts of a request that its signature covers. */
export interface SignedParts {
  readonly method: string;
  /** Path and query, in latin1. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: readonly HeaderLine[];
  /** SHA-256 of the body in hex, or `UNSIGNED-PAYLOAD`. */
  readonly payloadHash: string;
  /** Such as `20150830T123600Z`. */
  readonly time: string;
}

/** The signature leaves the body out. */
const unsignedPayload = 'UNSIGNED-PAYLOAD';
/** S3 reads the path as it is; the other services normalise and encode it once more. */
const objectServices: ReadonlySet<string> = new Set(['s3', 's3express', 's3-object-lambda', 's3-outposts']);
/** The fields of a signature. The gateway writes them, so the client's fields of these names do not pass. */
export const signatureFields: readonly string[] = [
  'authorization',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
];
const ownFields: ReadonlySet<string> = new Set(signatureFields);

/** S3 accepts bodies without a hash, and VPC Lattice accepts no other ones. */
export const signsBody = ({ service }: SigningScope): boolean =>
  !objectServices.has(service) && service !== 'vpc-lattice-svcs';

/**
 * The head of a request with its signature.
 * @param head request line, fields and the empty line, in latin1
 * @param body without its framing; not looked at where the service accepts an unsigned one
 * @param now milliseconds since the epoch
 */
export function signHead(
  head: string,
  body: Buffer,
  keys: AwsKeys,
  scope: SigningScope,
  now: number,
): string {
  const [line = '', ...rest] = head.split('\r\n');
  const kept = rest.filter((text) => text !== '' && !ownFields.has(nameOf(text)));
  const [method = '', target = ''] = line.split(' ');
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const payloadHash = signsBody(scope) ? sha256(body) : unsignedPayload;
  const added: readonly HeaderLine[] = [
    ['x-amz-content-sha256', payloadHash],
    ['x-amz-date', time],
    ...(keys.sessionToken === undefined ? [] : [['x-amz-security-token', keys.sessionToken] as const]),
  ];
  const covered = kept
    .map((text): HeaderLine => [nameOf(text), text.slice(text.indexOf(':') + 1)])
    .filter(([name]) => isCovered(name));
  const parts = { method, target, headers: [...covered, ...added], payloadHash, time };
  const lines = [...added, ['authorization', authorization(parts, keys, scope)] as const];
  return `${[line, ...kept, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`;
}

const nameOf = (line: string): string => line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase();

/** Fields that AWS wants covered. Others may be changed by proxies on the way. */
const isCovered = (name: string): boolean =>
  name === 'host' ||
  name === 'content-type' ||
  name.startsWith('x-amz-') ||
  (name.startsWith('x-amzn-') && name !== 'x-amzn-trace-id');

/** The value of the field `Authorization`. */
export function authorization(parts: SignedParts, keys: AwsKeys, scope: SigningScope): string {
  const { method, target, payloadHash, time } = parts;
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  const fields = canonicalFields(parts.headers);
  const names = fields.map(([name]) => name).join(';');
  const canonical = [
    method,
    objectServices.has(scope.service) ? reencoded(path) : encoded(normalized(path), '/'),
    canonicalQuery(query),
    ...fields.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    payloadHash,
  ].join('\n');
  const day = time.slice(0, 8);
  const place = `${day}/${scope.region}/${scope.service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, place, sha256(Buffer.from(canonical, 'latin1'))].join('\n');
  const signature = hmac(signingKey(keys, scope, day), text).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${place}, SignedHeaders=${names}, Signature=${signature}`;
}

/** Sorted by name; values of one name joined, their spaces compressed. */
function canonicalFields(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  const values = new Map<string, string[]>();
  for (const [name, value] of lines) {
    const one = trimmed(value).replaceAll(/ +/g, ' ');
    const known = values.get(name);
    if (known === undefined) values.set(name, [one]);
    else known.push(one);
  }
  return [...values].map(([name, all]): HeaderLine => [name, all.join(',')]).toSorted(byCode);
}

/** `trim` would cut more, such as the last byte of `à` in UTF-8. */
function trimmed(value: string): string {
  let [from, to] = [0, value.length];
  while (from < to && isBlank(value[from])) from++;
  while (to > from && isBlank(value[to - 1])) to--;
  return value.slice(from, to);
}

const isBlank = (one: string | undefined): boolean => one === ' ' || one === '\t';

/** Sorted by encoded name, then by encoded value. */
const canonicalQuery = (query: string): string =>
  query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair): HeaderLine => {
      const equals = pair.indexOf('=');
      const name = equals < 0 ? pair : pair.slice(0, equals);
      const value = equals < 0 ? '' : pair.slice(equals + 1);
      return [parameter(name), parameter(value)];
    })
    .toSorted(byCode)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');

function byCode([name, value]: HeaderLine, [otherName, otherValue]: HeaderLine): number {
  if (name !== otherName) return name < otherName ? -1 : 1;
  return value === otherValue ? 0 : value < otherValue ? -1 : 1;
}

const parameter = (text: string): string => encoded(decoded(text.replaceAll('+', ' ')));

/** Without empty segments and dot segments. */
function normalized(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  const end = segments.length > 0 && path.endsWith('/') ? '/' : '';
  return `/${segments.join('/')}${end}`;
}

const reencoded = (path: string): string => encoded(decoded(path), '/');

const decoded = (text: string): string =>
  text.replaceAll(/%([\dA-Fa-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );

/** Percent-encodes all but the unreserved characters (RFC 3986 §2.3). One character is one byte. */
const encoded = (text: string, safe = ''): string =>
  text.replaceAll(/[^\w.~-]/g, (one) =>
    one === safe ? one : `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The key of a credential for the day and the scope of its last signature. */
const derived = new WeakMap<AwsKeys, { readonly of: string; readonly key: Buffer }>();

function signingKey(keys: AwsKeys, { region, service }: SigningScope, day: string): Buffer {
  const of = `${day}/${region}/${service}`;
  const known = derived.get(keys);
  if (known?.of === of) return known.key;
  const chain = [day, region, service, 'aws4_request'];
  const key = chain.reduce<Buffer>(
    (last, part) => hmac(last, part),
    Buffer.from(`AWS4${keys.secretAccessKey}`),
  );
  derived.set(keys, { of, key });
  return key;
}

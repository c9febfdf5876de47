import { TOKEN } from './octets.ts';

/**
 * The header fields that the wire itself acts on, or that each request is asked for. The parser hashes each name while
 * it scans it and looks the hash up here; a hit is confirmed by length and bytes, so that a collision can neither drop
 * nor misread a field.
 */
export const KIND = {
  other: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 3,
  connection: 4,
  keepAlive: 5,
  proxyConnection: 6,
  te: 7,
  trailer: 8,
  upgrade: 9,
  expect: 10,
  proxyAuthenticate: 11,
  proxyAuthorization: 12,
  forwardedFor: 13,
  forwardedProto: 14,
  forwardedHost: 15,
  requestId: 16,
  server: 17,
  serviceTime: 18,
  date: 19,
  http2Settings: 20,
  /** Names that some backends read as framing fields: `_` for `-`. */
  lookalike: 21,
  traceparent: 22,
} as const;

const names: readonly (readonly [string, number])[] = [
  ['host', KIND.host],
  ['content-length', KIND.contentLength],
  ['transfer-encoding', KIND.transferEncoding],
  ['connection', KIND.connection],
  ['keep-alive', KIND.keepAlive],
  ['proxy-connection', KIND.proxyConnection],
  ['te', KIND.te],
  ['trailer', KIND.trailer],
  ['upgrade', KIND.upgrade],
  ['expect', KIND.expect],
  ['proxy-authenticate', KIND.proxyAuthenticate],
  ['proxy-authorization', KIND.proxyAuthorization],
  ['x-forwarded-for', KIND.forwardedFor],
  ['x-forwarded-proto', KIND.forwardedProto],
  ['x-forwarded-host', KIND.forwardedHost],
  ['x-request-id', KIND.requestId],
  ['server', KIND.server],
  ['x-envoy-upstream-service-time', KIND.serviceTime],
  ['date', KIND.date],
  ['http2-settings', KIND.http2Settings],
  ['traceparent', KIND.traceparent],
  ['transfer_encoding', KIND.lookalike],
  ['content_length', KIND.lookalike],
];

/** Fields of one connection of HTTP/1.1, which have no meaning in HTTP/2 and do not cross (RFC 9113 §8.2.2). */
export const connectionKinds: readonly number[] = [
  KIND.connection,
  KIND.proxyConnection,
  KIND.keepAlive,
  KIND.transferEncoding,
  KIND.upgrade,
  KIND.http2Settings,
];

/** Their names. */
export const connectionFields: readonly string[] = names.flatMap(([name, kind]) =>
  connectionKinds.includes(kind) ? [name] : [],
);

/** The hash the parser builds byte by byte, over the lower-case name. */
export function fieldHash(lowerName: string): number {
  let hash = 0;
  for (let i = 0; i < lowerName.length; i++) hash = (Math.imul(hash, 33) + lowerName.charCodeAt(i)) | 0;
  return hash;
}

/** The facts with which a field of a name is looked for. */
export interface FieldMark {
  readonly hash: number;
  /** The bit of its kind in `Head.seen`; 0 where the parser does not know the name. */
  readonly bit: number;
}

/** The names that are looked up are nearly always those of the code and the configuration. */
const marks = new Map<string, FieldMark>();
const maxMarks = 1_024;
const kinds = new Map(names);

/** The gateway never forwards these fields, so they may hold the credentials of the client. */
const hopCredentials: readonly (number | undefined)[] = [KIND.proxyAuthenticate, KIND.proxyAuthorization];
/** Proxies in front of the gateway add to these fields. A browser writes `Origin`, and no page can change it. */
const writtenByOthers: readonly string[] = ['forwarded', 'via', 'origin'];
/** oauth2-proxy writes the token of the caller and facts about the caller here, and no address. */
const aboutCaller: readonly string[] = [
  'x-forwarded-access-token',
  'x-forwarded-user',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
];

/**
 * Fields that the wire acts on, and fields that the gateway, a proxy or a browser writes. The text of a client must
 * never decide whether such a field crosses the gateway.
 */
export const isBeyondClient = (lowerName: string): boolean =>
  (kinds.has(lowerName) && !hopCredentials.includes(kinds.get(lowerName))) ||
  (lowerName.startsWith('x-forwarded-') && !aboutCaller.includes(lowerName)) ||
  writtenByOthers.includes(lowerName);

/** The same with the kind of the name, remembered. */
export function markOf(lowerName: string): FieldMark {
  const known = marks.get(lowerName);
  if (known !== undefined) return known;
  const kind = kinds.get(lowerName);
  const mark = { hash: fieldHash(lowerName), bit: kind === undefined ? 0 : 1 << kind };
  if (marks.size < maxMarks) marks.set(lowerName, mark);
  return mark;
}

const SLOTS = 2048;
/** slot → index + 1 into `known`; the load below fails if two known names fell into one slot. */
const slots = new Uint8Array(SLOTS);
const known = names.map(([name, kind]) => ({ name, kind, hash: fieldHash(name) }));
for (const [index, { hash, name }] of known.entries()) {
  const slot = (hash ^ (hash >>> 11)) & (SLOTS - 1);
  if (slots[slot] !== 0) throw new Error(`two known fields share a slot: ${name}`);
  slots[slot] = index + 1;
}

/** Kind of the field whose name is the bytes `from`–`to` with this hash. */
export function fieldKind(bytes: Uint8Array, from: number, to: number, hash: number): number {
  const index = slots[(hash ^ (hash >>> 11)) & (SLOTS - 1)] as number;
  if (index === 0) return KIND.other;
  const candidate = known[index - 1] as (typeof known)[number];
  const { name } = candidate;
  if (candidate.hash !== hash || name.length !== to - from) return KIND.other;
  for (let i = 0; i < name.length; i++) {
    if (TOKEN[bytes[from + i] as number] !== name.charCodeAt(i)) return KIND.other;
  }
  return candidate.kind;
}

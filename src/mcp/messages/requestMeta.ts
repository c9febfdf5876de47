/** The `_meta` that every request of the modern era carries (MCP 2026-07-28, Basic, "Per-request protocol fields"). */

import { ownCopy } from '../../ownCopy.ts';
import { cut, memberOf, stringValue, type Envelope, type Found, type Span } from '../json/envelope.ts';
import { metaKeys } from './eras.ts';

/** Its texts are parts of the message: a session keeps copies. */
export interface RequestMeta {
  readonly version: string;
  /** The declared capabilities of the client, as JSON text of an object. */
  readonly capabilities: string;
  /** The name and version of the client, as JSON text; undefined where it does not say. */
  readonly clientInfo: string | undefined;
  /** The lowest level of log messages that the client wants; undefined: it wants none. */
  readonly logLevel: string | undefined;
}

/** Characters of declared capabilities: they are kept with the session of the client. */
const maxCapabilities = 16_384;
const maxClientInfo = 16_384;

/** Names the task that a message is related to (MCP 2025-11-25, "Tasks"). */
export const relatedTask = 'io.modelcontextprotocol/related-task';

/** Members that the gateway looks for in the `_meta` of a request, besides those of `RequestMeta`. */
const others = ['progressToken', 'traceparent', relatedTask] as const;
type OtherMember = (typeof others)[number];

/** Texts of `_meta` that are remembered, and the characters of one. */
const maxKnown = 256;
const maxKnownLength = 2_048;

/**
 * Texts of `_meta` that were read before, each without the other members. Clients repeat the same text in every request,
 * and a look for it costs less than its members do.
 */
const known = new Map<string, RequestMeta>();

/** The place of the newest of these texts: several steps of a call ask for members of the same place. */
let newest: { readonly place: Span; readonly meta: RequestMeta } | undefined;

/** The place of `_meta`; undefined where there is none, or several. */
export function placeOfMeta({ text, body }: Envelope): Span | undefined {
  const place = memberOf(text, body, '_meta');
  return place === 'ambiguous' ? undefined : place;
}

/** Does the request claim to be one of the modern era? A claim that cannot be read is one, too. */
export function claimsModern({ text, body }: Envelope): boolean {
  const place = memberOf(text, body, '_meta');
  if (typeof place !== 'object') return false;
  return knownAt(text, place) !== undefined || memberOf(text, place, metaKeys.protocolVersion) !== undefined;
}

/** The same for a request on its way, whose `_meta` was looked at before. */
export function carriesRevision({ text, body }: Envelope): boolean {
  const place = memberOf(text, body, '_meta');
  if (typeof place !== 'object') return false;
  return newest?.place === place || memberOf(text, place, metaKeys.protocolVersion) !== undefined;
}

/** The place of another member of `_meta`; `ambiguous` where it or `_meta` is repeated. */
export function inMeta({ text, body }: Envelope, name: OtherMember): Found {
  const place = memberOf(text, body, '_meta');
  if (typeof place !== 'object') return place;
  return newest?.place === place ? undefined : memberOf(text, place, name);
}

/** @returns the words that say which key is missing or wrong */
export function readRequestMeta({ text, body }: Envelope): RequestMeta | string {
  const place = memberOf(text, body, '_meta');
  if (place === 'ambiguous' || (place !== undefined && !isObject(text, place)))
    return '_meta must be one object';
  const read = place && knownAt(text, place);
  if (read !== undefined) return read;
  const meta = readAt(text, place);
  return place === undefined || typeof meta === 'string' ? meta : remembered(text, place, meta);
}

function readAt(text: string, place: Span | undefined): RequestMeta | string {
  const at = (key: string): Span | 'ambiguous' | undefined => memberOf(text, place, key);
  const version = stringAt(text, at(metaKeys.protocolVersion));
  if (version === undefined) return `_meta needs ${metaKeys.protocolVersion}, a string`;
  const capabilities = at(metaKeys.clientCapabilities);
  if (typeof capabilities !== 'object' || !isObject(text, capabilities))
    return `_meta needs ${metaKeys.clientCapabilities}, an object`;
  if (capabilities.end - capabilities.start > maxCapabilities)
    return `${metaKeys.clientCapabilities} has more than ${maxCapabilities} characters`;
  const info = at(metaKeys.clientInfo);
  if (info !== undefined && (info === 'ambiguous' || !isObject(text, info)))
    return `${metaKeys.clientInfo} must be one object`;
  const isKept = info !== undefined && info.end - info.start <= maxClientInfo;
  const level = at(metaKeys.logLevel);
  const logLevel = stringAt(text, level);
  if (level !== undefined && logLevel === undefined) return `${metaKeys.logLevel} must be one string`;
  return {
    version,
    capabilities: text.slice(capabilities.start, capabilities.end),
    clientInfo: isKept ? text.slice(info.start, info.end) : undefined,
    logLevel,
  };
}

/** Finds the `_meta` at a place among the texts that the gateway remembers. */
function knownAt(text: string, place: Span): RequestMeta | undefined {
  if (newest?.place === place) return newest.meta;
  if (known.size === 0 || place.end - place.start > maxKnownLength) return undefined;
  const meta = known.get(text.slice(place.start, place.end));
  if (meta !== undefined) newest = { place, meta };
  return meta;
}

/** Remembers a `_meta` that has none of the other members, most of which differ from request to request. */
function remembered(text: string, place: Span, meta: RequestMeta): RequestMeta {
  if (place.end - place.start > maxKnownLength) return meta;
  if (others.some((name) => memberOf(text, place, name) !== undefined)) return meta;
  const { version, capabilities, clientInfo, logLevel } = meta;
  const kept: RequestMeta = {
    version: ownCopy(version),
    capabilities: ownCopy(capabilities),
    clientInfo: clientInfo && ownCopy(clientInfo),
    logLevel: logLevel && ownCopy(logLevel),
  };
  known.set(cut(text, place), kept);
  for (const oldest of known.keys()) {
    if (known.size <= maxKnown) break;
    known.delete(oldest);
  }
  newest = { place, meta: kept };
  return kept;
}

const isObject = (text: string, span: Span): boolean => text.charCodeAt(span.start) === 0x7b;

const stringAt = (text: string, span: Span | 'ambiguous' | undefined): string | undefined =>
  span === 'ambiguous' ? undefined : stringValue(text, span);

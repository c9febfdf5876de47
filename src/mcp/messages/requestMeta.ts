/** The `_meta` that every request of the modern era carries (MCP 2026-07-28, Basic, "Per-request protocol fields"). */

import { cut, memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { metaKeys } from './eras.ts';

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

/** Does the request claim to be one of the modern era? A claim that cannot be read is one, too. */
export function claimsModern({ text, body }: Envelope): boolean {
  const meta = memberOf(text, body, '_meta');
  return meta !== 'ambiguous' && memberOf(text, meta, metaKeys.protocolVersion) !== undefined;
}

/** @returns the words that say which key is missing or wrong */
export function readRequestMeta({ text, body }: Envelope): RequestMeta | string {
  const meta = memberOf(text, body, '_meta');
  if (meta === 'ambiguous' || (meta !== undefined && !isObject(text, meta)))
    return '_meta must be one object';
  const at = (key: string): Span | 'ambiguous' | undefined => memberOf(text, meta, key);
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
    capabilities: cut(text, capabilities),
    clientInfo: isKept ? cut(text, info) : undefined,
    logLevel,
  };
}

const isObject = (text: string, span: Span): boolean => text.charCodeAt(span.start) === 0x7b;

const stringAt = (text: string, span: Span | 'ambiguous' | undefined): string | undefined =>
  span === 'ambiguous' ? undefined : stringValue(text, span);

import type { HeaderLine, Reply } from '../../http/index.ts';
import { withoutParameters } from '../../http/index.ts';
import { isHeaderLine, shownHeaderName } from '../fields/httpText.ts';
import { refusedRequestHeaders, refusedResponseHeaders } from '../headerModifier/facts.ts';
import { setsLogin } from '../hideCookies.ts';
import type { Exchange } from '../policy.ts';

/** A change of a header: `set` takes the place of all lines, `add` joins them, the others look for a line first. */
export interface HeaderChange {
  readonly action: 'set' | 'add' | 'setIfAbsent' | 'setIfPresent';
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** The decision of a service about a request. */
export type Decision = Allowed | Denied;

export interface Allowed {
  readonly kind: 'allowed';
  /** Changes of what the backend gets. */
  readonly headers: readonly HeaderChange[];
  /** In lower case. */
  readonly removed: readonly string[];
  /** Changes of what the client gets. */
  readonly responseHeaders: readonly HeaderChange[];
  readonly parametersSet: readonly (readonly [name: string, value: string])[];
  readonly parametersRemoved: readonly string[];
  readonly metadata: Metadata;
}

export interface Denied {
  readonly kind: 'denied';
  /** Undefined: the service leaves the response to the gateway. */
  readonly reply: Reply | undefined;
  readonly metadata: Metadata;
  /** It is about this request alone, so it is never kept. */
  readonly once?: true;
}

/** JSON values that later expressions read as `extauthz`. */
type Metadata = Readonly<Record<string, unknown>>;

export const allowedAsIs: Allowed = {
  kind: 'allowed',
  headers: [],
  removed: [],
  responseHeaders: [],
  parametersSet: [],
  parametersRemoved: [],
  metadata: {},
};

/**
 * Makes the changes of a service that allows a request.
 * @throws Error for a change that a request or response cannot have; nothing is changed then
 */
export function applyAllowed(exchange: Exchange, allowed: Allowed): void {
  const { headers, removed, responseHeaders, parametersSet, parametersRemoved } = allowed;
  for (const { name, value } of headers) check(name, value, refusedRequestHeaders);
  for (const { name, value } of responseHeaders) check(name, value, refusedResponseHeaders);
  // Proxies that speak this protocol pass over names that no request can be without.
  for (const name of removed) if (!refusedRequestHeaders.has(name)) exchange.requestHeaders.remove(name);
  for (const change of headers)
    edit(exchange.requestHeaders, change, exchange.request.header(change.name) !== undefined);
  for (const change of responseHeaders)
    if (!setsLogin([change.name, change.value])) edit(exchange.responseHeaders, change, false);
  if (parametersSet.length + parametersRemoved.length > 0)
    exchange.forwardTarget = withParameters(exchange.forwardTarget, parametersSet, parametersRemoved);
}

/** @throws Error with a reason that holds no value */
function check(name: string, value: string, refused: ReadonlySet<string>): void {
  if (!isHeaderLine([name, value]) || refused.has(name))
    throw new Error(`the service set a header that it must not set: ${shownHeaderName(name)}`);
}

/** @param hasClient the client sent such a header */
function edit(
  edits: Exchange['requestHeaders'],
  { action, name, value }: HeaderChange,
  hasClient: boolean,
): void {
  const isThere = edits.touches(name)
    ? edits.lines.some(([known]) => known === name) || (hasClient && !edits.dropsName(name))
    : hasClient;
  if (action === 'add') edits.add(name, value);
  else if (action === 'set' || (action === 'setIfPresent') === isThere) edits.set(name, value);
}

/** The target with other parameters in its query. */
function withParameters(target: string, set: Allowed['parametersSet'], removed: readonly string[]): string {
  const dropped = new Set([...removed, ...set.map(([name]) => name)]);
  const kept = withoutParameters(target, (pair) => dropped.has(nameOf(pair)));
  if (set.length === 0) return kept;
  const pairs = set.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `${kept}${kept.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}

/** The name of a parameter as servers read it; as it is written where they could not. */
function nameOf(pair: string): string {
  const written = pair.split('=', 1)[0] ?? '';
  try {
    return decodeURIComponent(written.replaceAll('+', ' '));
  } catch {
    return written;
  }
}

/** The response of a service that refuses a request: without fields of its connection and its framing. */
export function deniedReply(status: number, lines: readonly HeaderLine[], body: string | Buffer): Reply {
  const headers = lines.filter(
    (line) => isHeaderLine(line) && !refusedResponseHeaders.has(line[0]) && !setsLogin(line),
  );
  return { status, headers, body };
}

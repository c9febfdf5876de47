import type { HttpRequest } from '../../http/index.ts';
import type { McpBackend } from '../../model/index.ts';
import type { ItemCall, PlainReading } from '../contract.ts';
import { memberOf, type Envelope } from '../json/envelope.ts';
import { readPlain } from '../json/plainValue.ts';
import { modernVersion } from '../messages/eras.ts';
import { sseSessionOf } from './sseRequests.ts';

/** Says whether an MCP backend has sessions; undefined where the route has none. */
type SessionSettings = Pick<McpBackend, 'stateless'> | undefined;

/** The id of the session of a request. Without a session, it is a value that the client has made up, and says nothing. */
export const sessionIdOf = (http: HttpRequest, settings: SessionSettings): string | undefined =>
  settings?.stateless === true || http.header('mcp-protocol-version')?.trim() === modernVersion
    ? undefined
    : (http.header('mcp-session-id') ?? sseSessionOf(http));

/** The part of a request that rules judge beside its item. */
export function itemCallOf(http: HttpRequest, request: Envelope, settings: SessionSettings): ItemCall {
  const call = { method: request.method, sessionId: sessionIdOf(http, settings) };
  if (request.method !== 'tools/call') return call;
  // A rule set judges all readings of a name with the same arguments.
  let names: ReadonlySet<string> | undefined;
  let read: ReturnType<typeof readPlain> | undefined;
  const readArguments = (reading: PlainReading): ReturnType<typeof readPlain> => {
    if (read === undefined || names !== reading.names) read = argumentsOf(request, reading);
    ({ names } = reading);
    return read;
  };
  return { ...call, readArguments };
}

function argumentsOf({ text, body }: Envelope, reading: PlainReading): ReturnType<typeof readPlain> {
  const place = memberOf(text, body, 'arguments');
  if (place === 'ambiguous') return { fault: 'arguments are repeated' };
  if (place === undefined) return { value: new Map() };
  if (text.charCodeAt(place.start) !== 0x7b) return { fault: 'arguments are not an object' };
  return readPlain(text, place, reading);
}

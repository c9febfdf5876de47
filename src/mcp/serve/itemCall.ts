import type { HttpRequest } from '../../http/index.ts';
import type { ItemCall, PlainReading } from '../contract.ts';
import { memberOf, type Envelope } from '../json/envelope.ts';
import { readPlain } from '../json/plainValue.ts';
import { sseSessionOf } from './sseRequests.ts';

/** The id of the session of a request, as its client sends it. */
export const sessionIdOf = (http: HttpRequest): string | undefined =>
  http.header('mcp-session-id') ?? sseSessionOf(http);

/** The part of a request that rules judge beside its item. */
export function itemCallOf(http: HttpRequest, request: Envelope): ItemCall {
  const call = { method: request.method, sessionId: sessionIdOf(http) };
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

/** Failures of requests to the gateway, as a client over standard input and output gets them. */

import { catalogue } from '../errors.ts';
import type { EndpointAnswer } from './stdioEndpoint.ts';
import { tokenVariable } from './stdioToken.ts';

/** JSON-RPC: an error of the implementation. */
const internal = -32_603;

const causes: Readonly<Record<number, string>> = {
  0: 'the gateway closed the connection before it answered',
  401: `the route demands a token that the gateway accepts: set ${tokenVariable}`,
  403: 'the rules of the route do not allow this',
};

/** A response of the gateway. */
interface Refusal {
  jsonrpc?: unknown;
  error?: { message?: unknown };
}

const sessionRequired = catalogue.mcp_session_required.message;

/** A client over standard input has no headers, so it learns what it has left out. */
const withoutSession = (refusal: Refusal): string =>
  JSON.stringify({
    ...refusal,
    error: { ...refusal.error, message: 'the session has not begun: send initialize first' },
  });

/** The first words of a text that is for people. */
const shown = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 300);

/** The cause of a refusal, for the client and for the log. */
export function causeOf({ status, text, headers }: EndpointAnswer): string {
  if (status === 401 && /^basic\b/i.test(headers['www-authenticate'] ?? ''))
    return 'the route demands a user name and a password, which this command cannot send';
  const said = shown(text);
  return causes[status] ?? (said === '' ? `the gateway answered with status ${status}` : said);
}

/** A response to a request that the gateway refused without a JSON-RPC response. */
export const failureOf = (id: unknown, answer: EndpointAnswer): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: internal, message: causeOf(answer) } });

/** The response of the gateway itself; one of its own where its answer is none. */
export function refusalOf(text: string, status: number): string {
  try {
    const value = JSON.parse(text) as Refusal | null;
    if (typeof value === 'object' && value?.jsonrpc !== undefined)
      return value.error?.message === sessionRequired ? withoutSession(value) : text;
  } catch {
    // Another body is no message.
  }
  const message = causes[status] ?? `the gateway answered with status ${status}: ${shown(text)}`;
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: internal, message } });
}

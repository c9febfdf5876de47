/** Questions of legacy servers that a client of the modern era cannot answer (MCP 2026-07-28, Basic, "Capabilities"). */

import { GatewayError } from '../../errors.ts';
import { cut, memberOf, readEnvelope, stringValue, type Envelope } from '../json/envelope.ts';
import { errorTextOf } from '../json/errorMember.ts';
import { isRecord } from '../json/parsed.ts';
import { isQuestion, undeclaredCapability } from '../messages/clientQuestions.ts';
import { errorResponse } from '../messages/rpcError.ts';

/** Capabilities in the form of declared capabilities. */
export type Lacking = Readonly<Record<string, object>>;

/** Characters of the server's words that the client sees. */
const maxShown = 300;

/**
 * The capabilities that a client needs to answer a request of a server, and has not declared; undefined where it can
 * answer. A request that no client of the modern era knows needs none that could be declared.
 * @param capabilities JSON text of an object
 */
export function lackingFor({ method, text, body }: Envelope, capabilities: string): Lacking | undefined {
  if (!isQuestion(method)) return {};
  const mode = memberOf(text, body, 'mode');
  const isUrl = mode !== 'ambiguous' && stringValue(text, mode) === 'url';
  return undeclaredCapability(capabilities, method, isUrl);
}

/**
 * The response to a request that failed after the server asked what the client cannot answer: the modern era has an
 * error for it (-32021). A server may do without the answer; then its result stands.
 * @param response a JSON-RPC response of a server
 */
export function missingCapability(response: string, lacking: Lacking = {}): string | undefined {
  const names = Object.keys(lacking);
  const read = names.length === 0 ? undefined : readEnvelope(response);
  const said = typeof read === 'object' ? failureOf(read) : undefined;
  if (typeof read !== 'object' || said === undefined) return undefined;
  const message = `missing client capability: ${names.join(', ')}; the server said: ${said}`;
  const error = new GatewayError('mcp_capability_missing', { message });
  return errorResponse(error, cut(read.text, read.idSpan), { requiredCapabilities: lacking });
}

/** The words of a server that refuses a request, or whose tool failed; undefined for any other response. */
function failureOf(response: Envelope): string | undefined {
  if (response.isError) return errorTextOf(response);
  const { text, body } = response;
  if (body === undefined || memberOf(text, body, 'isError') === undefined) return undefined;
  const { isError, content } = JSON.parse(text.slice(body.start, body.end)) as Record<string, unknown>;
  if (isError !== true) return undefined;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const words = blocks.flatMap((block) => (isRecord(block) ? (block['text'] ?? []) : []));
  return words.join(' ').slice(0, maxShown);
}

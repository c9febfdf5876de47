/** The headers that mirror the body of a request (MCP 2026-07-28, Streamable HTTP, "Request Metadata"). */

import type { HeaderLine, HttpRequest } from '../../http/index.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { decodedValue, nameMembers, parameterPrefix } from '../messages/mirroredHeaders.ts';
import type { RequestMeta } from '../messages/requestMeta.ts';

/** Header lines that a client adds for parameters of a tool. */
const maxParams = 64;

/**
 * @param claimed the value of `MCP-Protocol-Version`
 * @returns the words that say which header is missing or disagrees with the body; undefined where all agree
 */
export function headerMismatch(
  request: Pick<HttpRequest, 'header'>,
  message: Envelope,
  { version }: Pick<RequestMeta, 'version'>,
  claimed: string | undefined,
): string | undefined {
  if (claimed === undefined) return 'MCP-Protocol-Version is missing';
  if (claimed !== version)
    return `MCP-Protocol-Version is ${shown(claimed)}, the body says ${shown(version)}`;
  const method = request.header('mcp-method')?.trim();
  if (method === undefined) return 'Mcp-Method is missing';
  if (method !== message.method)
    return `Mcp-Method is ${shown(method)}, the body says ${shown(message.method)}`;
  const member = nameMembers.get(message.method);
  if (member === undefined) return undefined;
  const place = memberOf(message.text, message.body, member);
  const value = place === 'ambiguous' ? undefined : stringValue(message.text, place);
  const name = request.header('mcp-name')?.trim();
  if (name === undefined) return value === undefined ? undefined : 'Mcp-Name is missing';
  const decoded = decodedValue(name);
  if (decoded === undefined) return 'Mcp-Name is not valid base64';
  if (value !== undefined && decoded !== value)
    return `Mcp-Name is ${shown(decoded)}, params.${member} is ${shown(value)}`;
  return undefined;
}

const shown = (value: string): string => JSON.stringify(value.slice(0, 128));

/** A request that can leave out the lines whose names begin otherwise. */
interface LineSource {
  headerLines(prefix?: string): readonly HeaderLine[];
}

/** The `Mcp-Param-*` lines of a request, for its server. */
export function paramHeaders(request: LineSource): readonly HeaderLine[] {
  const lines = request.headerLines(parameterPrefix);
  if (lines.length === 0) return lines;
  return lines.filter(([name]) => name.toLowerCase().startsWith(parameterPrefix)).slice(0, maxParams);
}

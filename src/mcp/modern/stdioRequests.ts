import { memberOf, readEnvelope, stringValue, type Envelope } from '../json/envelope.ts';
import { metaKeys } from '../messages/eras.ts';
import { headerValue, nameMembers } from '../messages/mirroredHeaders.ts';
import { ParameterHeaders } from '../messages/parameterHeaders.ts';

/** Requests of a client on stdio, on their way to an endpoint of Streamable HTTP. */
export class StdioRequests {
  private readonly parameters = new ParameterHeaders();

  /**
   * The headers that repeat parts of a request (2026-07-28, Streamable HTTP, "Request Metadata"). A client on stdio
   * sends none.
   * @returns undefined for a message of the legacy era
   */
  headersOf(line: string): Record<string, string> | undefined {
    const message = readEnvelope(line);
    if (typeof message === 'string' || message.kind !== 'request') return undefined;
    const version = versionOf(message);
    if (version === undefined) return undefined;
    const { method, text, body } = message;
    const member = nameMembers.get(method);
    const name = member === undefined ? undefined : memberText(message, member);
    const parameters =
      method === 'tools/call' && name !== undefined ? this.parameters.of(name, { text, body }) : [];
    return {
      'mcp-protocol-version': headerValue(version),
      'mcp-method': headerValue(method),
      ...(name === undefined ? {} : { 'mcp-name': headerValue(name) }),
      ...Object.fromEntries(parameters.map(([header, value]) => [header.toLowerCase(), value])),
    };
  }

  /** Learns from a response to `tools/list` which parameters headers repeat. */
  learn(response: string): void {
    const message = readEnvelope(response);
    if (typeof message !== 'string') this.parameters.learn(message);
  }
}

/** The revision in `_meta`, which every request of the modern era has. */
function versionOf({ text, body }: Envelope): string | undefined {
  const meta = memberOf(text, body, '_meta');
  const place = meta === 'ambiguous' ? undefined : memberOf(text, meta, metaKeys.protocolVersion);
  return place === 'ambiguous' ? undefined : stringValue(text, place);
}

function memberText({ text, body }: Envelope, name: string): string | undefined {
  const place = memberOf(text, body, name);
  return place === 'ambiguous' ? undefined : stringValue(text, place);
}

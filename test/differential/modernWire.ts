/** Connections of a client of revision 2026-07-28, whose requests stand alone. */
import { headerValue, nameMembers, parameterPrefix } from '../../src/mcp/messages/mirroredHeaders.ts';
import { readMessages } from './httpWire.ts';
import { modernRevision } from './course.ts';
import type { Receive, Wire } from './wire.ts';

/** The abilities of a client of the revision. */
export const modernCapabilities = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: {},
};

const meta = {
  'io.modelcontextprotocol/protocolVersion': modernRevision,
  'io.modelcontextprotocol/clientInfo': { name: 'differential', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': modernCapabilities,
  // A legacy server without a level tells its client everything.
  'io.modelcontextprotocol/logLevel': 'debug',
};

interface Request {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A request with the metadata that each carries. */
function complete(text: string): { readonly text: string; readonly request: Request } {
  const request = JSON.parse(text) as Request;
  const own = request.params?.['_meta'] as object | undefined;
  return {
    text: JSON.stringify({ ...request, params: { ...request.params, _meta: { ...own, ...meta } } }),
    request,
  };
}

/** The headers that repeat members of a request. */
function mirrored({ method, params }: Request): Record<string, string> {
  const name = params?.[nameMembers.get(method) ?? ''];
  const { region } = (params?.['arguments'] ?? {}) as { region?: unknown };
  return {
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
    // The one parameter of the fixture that a header repeats.
    ...(typeof region === 'string' && { [`${parameterPrefix}region`]: headerValue(region) }),
  };
}

/** Speaks Streamable HTTP without sessions. */
export function modernHttpWire(url: string, token: string | undefined, receive: Receive): Wire {
  const ending = new AbortController();
  const reading: Promise<void>[] = [];
  const broken: unknown[] = [];
  const close = async (): Promise<void> => {
    ending.abort();
    await Promise.all(reading);
    if (broken.length > 0) throw new AggregateError(broken, 'a stream broke off');
  };
  return {
    async send(written) {
      const { text, request } = complete(written);
      const response = await fetch(url, {
        method: 'POST',
        signal: ending.signal,
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': modernRevision,
          ...mirrored(request),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        body: text,
      });
      reading.push(
        readMessages(response, (message) => receive(message, 'POST')).catch((error: unknown) => {
          if (!ending.signal.aborted) broken.push(error);
        }),
      );
      return response.status;
    },
    listen: () => Promise.resolve(),
    end: async () => {
      await close();
      return [];
    },
    close,
  };
}

/** The same over standard input and output. */
export const modernStdioWire = (wire: Wire): Wire => ({
  ...wire,
  send: (text) => wire.send(complete(text).text),
  end: async () => {
    await wire.close();
    return [];
  },
});

/** The revisions of MCP that the page speaks: one of each era. */

import type { InputSchema, Outgoing, PropertySchema } from './mcpTypes.ts';

/** `2025-11-25` begins with `initialize`; in `2026-07-28`, each request stands alone. */
export type Revision = '2025-11-25' | '2026-07-28';
export const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28'];

export const clientInfo = { name: 'portcullis console', version: '1' };
/** A person answers the questions of the server in the page. */
export const capabilities = { elicitation: { form: {}, url: {} }, sampling: {} };

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
};

/** The params of a request of 2026-07-28. */
export const withMeta = (params: object): object => {
  const { _meta: own } = params as { readonly _meta?: object };
  return { ...params, _meta: { ...own, ...meta } };
};

/**
 * The headers that repeat parts of a request of 2026-07-28 (Streamable HTTP, "Request Metadata").
 * @param schema that of the called tool
 */
export function repeatedHeaders(
  { method = '', params }: Outgoing,
  schema: InputSchema | undefined,
): Readonly<Record<string, string>> {
  const { name, uri, arguments: args } = Object(params) as Readonly<Record<string, unknown>>;
  const named = ['tools/call', 'prompts/get'].includes(method) ? name : uri;
  return {
    'mcp-method': method,
    ...(typeof named === 'string' && { 'mcp-name': headerValue(named) }),
    ...(method === 'tools/call' && parametersOf(schema?.properties, args)),
  };
}

/** The arguments that headers repeat. */
function parametersOf(
  properties: Readonly<Record<string, PropertySchema>> | undefined,
  args: unknown,
): Readonly<Record<string, string>> {
  if (typeof args !== 'object' || args === null) return {};
  const given = args as Readonly<Record<string, unknown>>;
  return Object.assign(
    {},
    ...Object.entries(properties ?? {}).map(([name, property]) => {
      const value = given[name];
      const header = property['x-mcp-header'];
      const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
      return typeof header === 'string' && isPlain
        ? { [`mcp-param-${header.toLowerCase()}`]: headerValue(String(value)) }
        : parametersOf(property.properties, value);
    }),
  ) as Readonly<Record<string, string>>;
}

const prefix = '=?base64?';
const suffix = '?=';

/** A text as the value of a header: plain, or in base64 where headers cannot hold it. */
export function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !(text.startsWith(prefix) && text.endsWith(suffix))) return text;
  const bytes = new TextEncoder().encode(text);
  return `${prefix}${btoa(String.fromCharCode(...bytes))}${suffix}`;
}

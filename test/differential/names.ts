/** The names of items as clients of a gateway know them, and back. */

import { createHash } from 'node:crypto';

type Json = Readonly<Record<string, unknown>>;

/** The one place that knows how a gateway shows the names of a server. */
export interface Names {
  /** Changes the parameters of a request from the server's names to the client's. */
  shown(method: string, params: object | undefined): object | undefined;
  /** Changes a message for the client to the server's names, without the items of other servers. */
  own(message: object): object;
}

export const sameNames: Names = { shown: (_, params) => params, own: (message) => message };

/** Members of a message that hold data of a tool or a log line, whose strings are not names of items. */
const data = new Set([
  'structuredContent',
  'data',
  'inputSchema',
  'outputSchema',
  'requestedSchema',
  'roots',
]);
const uriMembers = new Set(['uri', 'uriTemplate', 'resourceUri', 'ui/resourceUri', 'openai/outputTemplate']);
/** Lists of items, and the member that names their owner. */
const lists: Readonly<Record<string, string>> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
};
/** MCP Apps demand this scheme, so the target stands behind it. */
const appScheme = 'ui://';

/** Names of tools of the servers with characters that MCP does not allow (2025-11-25, Tool Names). */
const forbidden = ['a.b/c-d'];

/** A tool's name with a prefix: other characters are replaced, and a hash tells it from others. */
const changedName = (target: string, name: string): string =>
  `${target}_${name.replaceAll(/[^\w.-]/g, '_')}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;

/** The names behind an endpoint of several targets: `target_name`, `target+uri` and `ui://target+path`. */
export function federatedNames(target: string): Names {
  /** The names of tools that MCP does not allow, as the gateway shows them → the server's own. */
  const changed = new Map(forbidden.map((name) => [changedName(target, name), name]));
  const shownName = (name: unknown): unknown => {
    if (typeof name !== 'string') return name;
    return forbidden.includes(name) ? changedName(target, name) : `${target}_${name}`;
  };
  const shownUri = (uri: unknown): unknown => {
    if (typeof uri !== 'string') return uri;
    return uri.startsWith(appScheme) ? uri.replace(appScheme, `${appScheme}${target}+`) : `${target}+${uri}`;
  };
  /** The server's own name or URI; undefined for one of another server. */
  const ownOf = (text: string, member: string): string | undefined => {
    if (changed.has(text)) return changed.get(text);
    if (member === 'name') return text.startsWith(`${target}_`) ? text.slice(target.length + 1) : undefined;
    const scheme = text.startsWith(appScheme) ? appScheme : '';
    const rest = text.slice(scheme.length);
    return rest.startsWith(`${target}+`) ? scheme + rest.slice(target.length + 1) : undefined;
  };
  const ownItems = (items: readonly unknown[], member: string): unknown[] =>
    items.flatMap((item) => {
      const name = ownOf(String((item as Json)[member]), member);
      return name === undefined ? [] : [{ ...(own(item) as Json), [member]: name }];
    });
  const own = (value: unknown, key = ''): unknown => {
    if (data.has(key)) return value;
    const member = lists[key];
    if (Array.isArray(value) && key === 'resourceSubscriptions')
      return value.map((uri) => ownOf(String(uri), 'uri') ?? `not of ${target}: ${String(uri)}`);
    if (Array.isArray(value))
      return member === undefined ? value.map((item) => own(item)) : ownItems(value, member);
    // A name without its prefix must not pass for the server's own.
    if (uriMembers.has(key) && typeof value === 'string')
      return ownOf(value, key) ?? `not of ${target}: ${value}`;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([inner, each]) => [inner, own(each, inner)]));
  };

  return {
    shown(method, params) {
      if (params === undefined) return params;
      const { name, uri, ref, notifications } = params as Json;
      if (method === 'subscriptions/listen') {
        const { resourceSubscriptions: uris = [] } = notifications as { resourceSubscriptions?: string[] };
        const shown = { ...(notifications as object), resourceSubscriptions: uris.map(shownUri) };
        return { ...params, notifications: shown };
      }
      if (method === 'tools/call' || method === 'prompts/get') return { ...params, name: shownName(name) };
      if (method.startsWith('resources/') && uri !== undefined) return { ...params, uri: shownUri(uri) };
      if (method !== 'completion/complete') return params;
      const changed = Object.entries(ref as Json).map(([key, value]) => [
        key,
        key === 'name' ? shownName(value) : key === 'uri' ? shownUri(value) : value,
      ]);
      return { ...params, ref: Object.fromEntries(changed) as object };
    },
    own: (message) => own(message) as object,
  };
}

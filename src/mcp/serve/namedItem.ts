import type { HttpRequest } from '../../http/index.ts';
import type { Limits, McpBackend } from '../../model/index.ts';
import type { ItemCall, McpItem } from '../contract.ts';
import { itemOf, type NamedItem } from '../items/items.ts';
import { namingOf } from '../items/naming.ts';
import { itemCallOf } from './itemCall.ts';
import { readPost } from './readPost.ts';

/**
 * The first item that a POST uses, as rules see it. No session is looked up, and no server is asked.
 * @param settings the backend, whose names lead to targets; without it, the item has the name that the client uses
 * @returns undefined where the body is no MCP message about an item
 */
export async function namedItem(
  settings: McpBackend | undefined,
  request: HttpRequest,
  limits: Limits,
): Promise<{ readonly item: McpItem; readonly call: ItemCall } | undefined> {
  const body = await request.readBody(limits.maxMcpRequestBytes);
  if (!/^\s*[{[]/.test(body.toString('latin1', 0, 64))) return undefined;
  let post: Awaited<ReturnType<typeof readPost>>;
  try {
    post = await readPost(body, { maxDepth: limits.maxJsonDepth, maxNodes: limits.maxJsonNodes });
  } catch {
    // Other JSON than messages may be the body of a request to an HTTP app.
    return undefined;
  }
  for (const message of post.messages) {
    if (message.kind === 'response') continue;
    const named = itemOf(message);
    if (named === undefined || typeof named === 'string') continue;
    return { item: ownItem(named, settings), call: itemCallOf(request, message, settings) };
  }
  return undefined;
}

/** The item of the first target that may have the name. */
function ownItem({ kind, name }: NamedItem, settings: McpBackend | undefined): McpItem {
  const naming = settings && namingOf(settings);
  const found = naming?.ownItem(kind, name);
  if (naming === undefined || found === undefined) return { kind, target: '', name };
  if ('target' in found) return { kind, target: found.target, name: found.name };
  const [target = ''] = found.candidates;
  return { kind, target, name: name.slice(naming.prefixOf(target).length) };
}

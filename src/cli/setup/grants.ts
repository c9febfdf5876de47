import { UsageError } from '../command.ts';
import type { Grant, Server } from './setup.ts';

/**
 * Reads `GROUP=TOOL,TOOL`, with `SERVER:TOOL` where there are several servers; `*` stands for all tools.
 * @throws UsageError
 */
export function readGrant(text: string, servers: readonly Server[]): Grant {
  const at = text.lastIndexOf('=');
  const [group, list] = [text.slice(0, at).trim(), text.slice(at + 1)];
  const words = list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (at < 0 || group === '' || words.length === 0)
    throw new UsageError(`--allow: expected GROUP=TOOL,TOOL or GROUP=*, and got ${JSON.stringify(text)}`);
  if (words.includes('*')) return { group, tools: 'all' };
  return { group, tools: words.map((word) => toolOf(word, servers)) };
}

function toolOf(word: string, servers: readonly Server[]): { server: string; tool: string | undefined } {
  const [first] = servers;
  const colon = word.indexOf(':');
  const named = servers.find(({ name }) => name === word.slice(0, colon));
  const server = named ?? (servers.length === 1 ? first : undefined);
  if (server === undefined)
    throw new UsageError(
      `--allow: expected SERVER:TOOL with one of the servers ${servers.map(({ name }) => name).join(', ')}, and got ${JSON.stringify(word)}`,
    );
  const tool = named === undefined ? word : word.slice(colon + 1);
  return { server: server.name, tool: tool === '*' ? undefined : tool };
}

/** The tools of grants that no server has. */
export function unknownTools(
  grants: readonly Grant[],
  known: ReadonlyMap<string, readonly string[]>,
): string[] {
  return grants.flatMap(({ tools }) =>
    tools === 'all'
      ? []
      : tools
          .filter(({ server, tool }) => tool !== undefined && known.get(server)?.includes(tool) === false)
          .map(({ server, tool }) => `${server}:${tool ?? '*'}`),
  );
}

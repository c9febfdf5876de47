import type { McpTarget } from '../../model/index.ts';
import { identityOf } from './facts.ts';

const servers = new WeakMap<McpTarget, string>();

/** Names the server behind a target, whatever the configuration calls the target. */
export function serverOf(target: McpTarget): string {
  let server = servers.get(target);
  if (server === undefined)
    servers.set(target, (server = JSON.stringify([target.kind, ...identityOf(target)])));
  return server;
}

/**
 * The name that the configuration has now for the server of an open session; undefined where it names the server no more.
 * A server under its old name counts as the same one, even if the configuration says otherwise how it is reached.
 */
export function targetNow(opened: McpTarget, targets: readonly McpTarget[]): McpTarget | undefined {
  const server = serverOf(opened);
  const same = targets.filter((target) => serverOf(target) === server);
  const named = (target: McpTarget): boolean => target.name === opened.name && target.kind === opened.kind;
  return same.find(named) ?? same[0] ?? targets.find(named);
}

import type { McpTarget } from '../../model/index.ts';

/** Names the server behind a target, whatever the configuration calls the target. */
export function serverOf(target: McpTarget): string {
  if (target.kind === 'http') {
    const { host, port, path, endpoints, tls } = target;
    return JSON.stringify(['http', host, port, path, endpoints ?? null, tls !== undefined]);
  }
  const { cmd, args, env, clearEnv, cwd } = target;
  return JSON.stringify([
    'stdio',
    cmd,
    args,
    Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    clearEnv,
    cwd ?? null,
  ]);
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

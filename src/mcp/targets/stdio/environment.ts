import type { StdioTarget } from '../../../model/index.ts';

/**
 * The environment of a child: the gateway's own less its secrets, a part of it (`inheritEnv`), or nothing (`clearEnv`),
 * then what the target sets. What the operator wrote at the target wins, even under the name of a secret.
 * @param injected the values of the caller
 */
export function childEnvironment(
  target: StdioTarget,
  secrets: ReadonlySet<string>,
  own: Readonly<Record<string, string | undefined>>,
  injected: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const env: Record<string, string> = {};
  if (!target.clearEnv) {
    for (const [name, value] of Object.entries(own))
      if (value !== undefined && !secrets.has(name) && target.inheritEnv?.includes(name) !== false)
        env[name] = value;
  }
  return Object.assign(env, target.env, injected);
}

import { hash } from 'node:crypto';

/** The key of the pod of a target: `namespace/name/target` of an McpBackend. */
export const podKeyOf = (backend: string, target: string): string => `${backend}/${target}`;

/**
 * The name of the pod of a target, of its Service, and of all else that is made for it: a name of a Service.
 * @param name of the McpBackend
 */
export function mcpPodName(controllerName: string, name: string, target: string): string {
  // Controllers that share a cluster may serve the same McpBackend, each by pods of its own.
  const readable = `${name}-${target}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .slice(0, 46);
  const digest = hash('sha256', `${controllerName}\n${name}\n${target}`, 'hex').slice(0, 10);
  return `mcp-${readable}-${digest}`;
}

/**
 * Its ServiceAccount. The dot keeps it apart from those of Gateways: an account of both would be let to the keys of
 * listeners.
 */
export const mcpAccountName = (controllerName: string, name: string, target: string): string =>
  `${mcpPodName(controllerName, name, target)}.mcp`;

const prefix = 'mcp_';

/**
 * The name by which the model of a pod is requested, where a Gateway's is `namespace/name`. No Gateway and no
 * McpBackend has a name with an underscore.
 * @param pod `namespace/name/target`
 */
export const mcpModelKey = (pod: string): string =>
  pod.replace('/', `/${prefix}`).replace(/\/([^/]*)$/, '_$1');

/** The McpBackend and the target whose model it is; undefined for models of Gateways. */
export function mcpOfModel(model: string): { readonly name: string; readonly target: string } | undefined {
  const [, name, target] = /^mcp_([^_]*)_(.*)$/.exec(model) ?? [];
  return name === undefined || target === undefined ? undefined : { name, target };
}

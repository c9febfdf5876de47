import { hash } from 'node:crypto';

/**
 * The name of the pod of an McpBackend, of its Service, and of all else that is made for it: a name of a Service.
 */
export function mcpPodName(controllerName: string, name: string): string {
  // Controllers that share a cluster may serve the same McpBackend, each by a pod of its own.
  const readable = name.replaceAll('.', '-').slice(0, 40);
  return `mcp-${readable}-${hash('sha256', `${controllerName}\n${name}`, 'hex').slice(0, 10)}`;
}

/**
 * Its ServiceAccount. The dot keeps it apart from those of Gateways: an account of both would be let to the keys of
 * listeners.
 */
export const mcpAccountName = (controllerName: string, name: string): string =>
  `${mcpPodName(controllerName, name)}.mcp`;

const prefix = 'mcp_';

/**
 * The name by which its model is requested, where a Gateway's is `namespace/name`. No Gateway has a name with an
 * underscore.
 * @param key `namespace/name` of the McpBackend
 */
export const mcpModelKey = (key: string): string => key.replace('/', `/${prefix}`);

/** The name of the McpBackend whose model it is; undefined for those of Gateways. */
export const mcpOfModel = (name: string): string | undefined =>
  name.startsWith(prefix) ? name.slice(prefix.length) : undefined;

import type { HostRewrite } from '../policies/index.ts';

/**
 * The `Host` that a backend gets.
 *
 * @param authority as the client sent it; empty where it sent none
 * @param backend `host:port` of the backend
 */
export function rewrittenHost(rewrite: HostRewrite, authority: string, backend: string): string {
  // Clients leave the usual port out, and some virtual hosts know their name only without it.
  const own = backend.endsWith(':80') ? backend.slice(0, -3) : backend;
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority) ?? [];
  switch (rewrite.kind) {
    case 'full':
      return rewrite.authority;
    case 'auto':
      return own;
    case 'host':
      return port === '' ? rewrite.host : `${rewrite.host}:${port}`;
    case 'port':
      return host === '' ? own : `${host}:${rewrite.port}`;
  }
}

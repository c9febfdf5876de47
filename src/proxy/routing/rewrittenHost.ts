import type { HostRewrite } from '../../policies/index.ts';
import type { Destination } from '../../upstream/index.ts';

/**
 * The `Host` that a backend gets.
 *
 * @param authority as the client sent it; empty where it sent none
 */
export function rewrittenHost(
  rewrite: HostRewrite,
  authority: string,
  { name, tls }: Pick<Destination, 'name' | 'tls'>,
): string {
  // Clients leave the usual port out, and some virtual hosts know their name only without it.
  const usual = tls === undefined ? ':80' : ':443';
  const own = name.endsWith(usual) ? name.slice(0, -usual.length) : name;
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority) ?? [];
  switch (rewrite.kind) {
    case 'full':
      return rewrite.authority;
    case 'auto':
      return own;
    case 'none':
      return authority === '' ? own : authority;
    case 'host':
      return port === '' ? rewrite.host : `${rewrite.host}:${port}`;
    case 'port':
      return host === '' ? own : `${host}:${rewrite.port}`;
  }
}

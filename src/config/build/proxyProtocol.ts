import type { Bind, ProxyProtocol } from '../../model/index.ts';
import type { ProxyProtocolSettings } from '../schema/proxyProtocol.ts';

/** The address of a port, and the proxy in front of it. */
export function buildSocket(
  settings: {
    readonly port: number;
    readonly address?: string | undefined;
    readonly proxyProtocol?: ProxyProtocolSettings | undefined;
    readonly tunnelProtocol?: 'direct' | 'proxy' | undefined;
  },
  frontend: ProxyProtocolSettings | undefined,
): Omit<Bind, 'listeners'> {
  const { port, address, tunnelProtocol } = settings;
  // The setting at the port wins; `tunnelProtocol: proxy` is an older way to ask for it.
  const proxied = settings.proxyProtocol ?? frontend ?? (tunnelProtocol === 'proxy' ? {} : undefined);
  return {
    port,
    ...(address === undefined ? {} : { address }),
    ...(proxied === undefined ? {} : { proxyProtocol: buildProxyProtocol(proxied) }),
  };
}

const buildProxyProtocol = ({ version = 'v2', mode = 'strict' }: ProxyProtocolSettings): ProxyProtocol => ({
  version,
  mode,
});

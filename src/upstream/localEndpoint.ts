import { defaults, type Limits } from '../model/index.ts';
import { Endpoint } from './upstreamConnection.ts';
import { Health } from './health.ts';

/** Requests that one connection of a client may have under way in HTTP/2, at most: so many connections are kept. */
const KEPT = 8;

/**
 * Another process of this gateway, behind a socket of this machine. Its connections are kept for as long as whoever has
 * it wants them: the other side is of one mind with us, and does not hang up.
 */
export function localEndpoint(name: string, path: string, limits: Limits): Endpoint {
  const settings = {
    ...defaults.upstream,
    poolMaxSize: KEPT,
    poolIdleTimeoutMs: Number.POSITIVE_INFINITY,
    keepAlive: { ...defaults.upstream.keepAlive, enabled: false },
  };
  const health = new Health(
    undefined,
    () => false,
    () => undefined,
  );
  const share = { tls: undefined, limits: undefined, http2: false, onFree: undefined };
  return new Endpoint({ host: name, port: 0, tier: 0, path }, share, health, false, settings, limits);
}

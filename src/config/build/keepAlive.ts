import type { z } from 'zod';
import { defaults, type TcpKeepAlive } from '../../model/index.ts';
import type { keepalives } from '../schema/keepalives.ts';

/** Missing fields have their defaults. */
export function buildKeepAlive(given: z.output<typeof keepalives> = {}): TcpKeepAlive {
  const { keepAlive } = defaults.upstream;
  return {
    enabled: given.enabled ?? keepAlive.enabled,
    timeMs: given.time ?? keepAlive.timeMs,
    intervalMs: given.interval ?? keepAlive.intervalMs,
    retries: given.retries ?? keepAlive.retries,
  };
}

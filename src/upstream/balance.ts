import type { Endpoint } from './endpoint.ts';

/**
 * Those that requests may go to: the best tier of what is welcome; when nothing is, what is only cooling down or
 * ejected, since trying it is better than failing. What health checks find broken is never tried.
 */
export function choices(endpoints: readonly Endpoint[], now: number): readonly Endpoint[] {
  const healthy = endpoints.filter(({ health }) => health.healthy);
  const welcome = healthy.filter(({ health }) => health.isWelcome(now));
  const left = welcome.length > 0 ? welcome : healthy;
  const best = Math.min(...left.map(({ tier }) => tier));
  return left.every(({ tier }) => tier === best) ? left : left.filter(({ tier }) => tier === best);
}

/**
 * The less busy of two drawn by lot ("power of two choices"): nearly as even as looking at all of them, and a crowd
 * of gateways does not fall upon the one that looked best to each.
 */
export function pick(among: readonly Endpoint[]): Endpoint | undefined {
  const { length } = among;
  if (length < 2) return among[0];
  const first = Math.floor(Math.random() * length);
  const second = (first + 1 + Math.floor(Math.random() * (length - 1))) % length;
  const a = among[first] as Endpoint;
  const b = among[second] as Endpoint;
  return b.load < a.load ? b : a;
}

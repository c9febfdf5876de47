import { lotOf as scoreOf } from './hash.ts';
import type { Endpoint } from './upstreamConnection.ts';

/**
 * The endpoints that requests may go to: the best tier of those that are fit; when none is, those that only cool
 * down or are ejected, since trying them is better than failing. What health checks find broken is never tried.
 */
export function eligibleEndpoints(endpoints: readonly Endpoint[], now: number): readonly Endpoint[] {
  const healthy = endpoints.filter(({ health }) => health.healthy);
  const welcome = healthy.filter(({ health }) => health.isEligible(now));
  const left = welcome.length > 0 ? welcome : healthy;
  const best = Math.min(...left.map(({ tier }) => tier));
  return left.every(({ tier }) => tier === best) ? left : left.filter(({ tier }) => tier === best);
}

/** Up to so many requests under way an address is never passed by, however idle the others are. */
const ALWAYS_MOST = 16;

/**
 * The address for a key: the one that draws the highest lot for it (rendezvous hashing). Each address draws for itself,
 * so that one that comes or goes moves its own keys alone. One that is much busier than the others is passed by
 * ("bounded loads"), for the next in the order of the lots.
 * @param loadFactor how many times the average of requests under way one may have
 */
export function pickFor(key: number, among: readonly Endpoint[], loadFactor: number): Endpoint | undefined {
  let load = 1;
  for (const endpoint of among) load += endpoint.load;
  const most = Math.max(ALWAYS_MOST, Math.ceil((load * loadFactor) / among.length));
  let best: Endpoint | undefined;
  let highest = -1;
  for (const endpoint of among) {
    const lot = scoreOf(key, endpoint.hash);
    if (lot <= highest || endpoint.load >= most || !endpoint.hasRoom) continue;
    best = endpoint;
    highest = lot;
  }
  return best;
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

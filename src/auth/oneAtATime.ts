import type { LookupAll } from './guardedFetch.ts';

/** Lookups that may wait. */
const mostWaiting = 32;

/**
 * Looks names up that strangers choose, one at a time: each lookup holds a thread that the whole process shares, for as
 * long as the server of the name likes.
 * @param patienceMs a lookup that has waited longer fails, because nobody waits for it any more
 */
export function oneAtATime(lookup: LookupAll, patienceMs: number): LookupAll {
  const waiting: (() => void)[] = [];
  let busy = false;
  const next = (): void => {
    busy = false;
    waiting.shift()?.();
  };
  return (hostname, options, done) => {
    if (waiting.length >= mostWaiting) return done(new Error('too many names are being looked up'), []);
    const since = performance.now();
    const run = (): void => {
      if (performance.now() - since > patienceMs) {
        next();
        done(new Error('the lookup of another name took too long'), []);
        return;
      }
      busy = true;
      lookup(hostname, options, (error, addresses) => {
        next();
        done(error, addresses);
      });
    };
    if (busy) waiting.push(run);
    else run();
  };
}

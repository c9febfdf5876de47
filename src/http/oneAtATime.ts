import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';

/** Looks up the name of a server, as `dns.lookup` does with `all`. */
export type LookupAll = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Looks names up that strangers choose, one at a time: each lookup holds a thread that the whole process shares, for as
 * long as the server of the name likes.
 * @param patienceMs a lookup that has waited longer fails, because nobody waits for it any more
 * @param mostWaiting lookups that may wait
 */
export function oneAtATime(lookup: LookupAll, patienceMs: number, mostWaiting = 32): LookupAll {
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

/** Looks up the names that tenants of a cluster wrote. All of them share one of the four threads of the process. */
export const tenantLookup: LookupAll = oneAtATime(systemLookup, 10_000, 1_024);

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { readonly type: 'major'; readonly execution: 'async' }) => Promise<void>;

let collect: Collect | undefined;

/**
 * Asks the runtime to collect garbage soon, in a task of its own. By itself it does so when something is allocated: a
 * process that is idle after a peak would keep the buffers of that peak for as long as it is idle.
 */
export function collectSoon(): void {
  if (collect === undefined) {
    // The one way to a collector that was not asked for at the start; new contexts have it from here on.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
    setFlagsFromString('--no-expose-gc');
  }
  void collect({ type: 'major', execution: 'async' }).catch(() => undefined);
}

import { setTimeout as pause } from 'node:timers/promises';

/**
 * Asks again and again until the answer is neither undefined nor false, and returns it. An exception counts as no answer.
 *
 * @param what The condition, for the error message: `the key set is ready`.
 * @param ms The time limit. It only ends a test that fails: a machine with much other work is slow.
 * @throws Error after `ms`, with the last exception as its cause
 */
export async function until<T>(
  what: string | (() => string),
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  ms = 60_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  let last: unknown;
  for (;;) {
    const asked = performance.now();
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline)
      throw new Error(`waited in vain: ${typeof what === 'string' ? what : what()}`, { cause: last });
    // A question that takes the processor is not asked at every moment.
    await pause(Math.min(50, Math.max(5, performance.now() - asked)));
  }
}

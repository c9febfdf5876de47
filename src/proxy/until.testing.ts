import { setTimeout as pause } from 'node:timers/promises';

/** Waits until a condition holds. @throws Error with its name after a minute: a machine that does many things at once is slow */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await pause(5);
  }
}

import { setTimeout as pause } from 'node:timers/promises';

/** Waits until a condition holds. @throws Error with its name after a minute: a cluster may be slow */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await pause(30);
  }
}

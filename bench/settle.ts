import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until all figures stand still (1 % in four seconds), which is when collectors are done; a minute at most.
 * @param read the resident memory of each process
 */
export async function settle(read: () => readonly number[]): Promise<void> {
  const history: (readonly number[])[] = [];
  for (let second = 0; second < 60; second++) {
    history.push(read());
    const past = history.at(-5);
    const now = history.at(-1);
    // A collector that reduces memory of its own accord begins after some seconds of rest.
    if (second >= 10 && past !== undefined && now !== undefined) {
      if (now.every((value, at) => Math.abs(value - (past[at] ?? 0)) < value * 0.01)) return;
    }
    await delay(1000);
  }
}

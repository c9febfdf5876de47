/** Process groups: a child started with `detached` leads one, and its own children (npx, sh, node) are in it. */

/** Sends a signal to every process of the group; false when none is left. Signal 0 only asks. */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: a member changed its user; it is alive, and out of our reach.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

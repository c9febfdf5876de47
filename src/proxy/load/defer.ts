/** Has work to do after all reads of this turn of the event loop. */
export interface DeferredTask {
  runDeferred(): void;
  /** Handles an error that `runDeferred` has thrown: it ends this user, not the process, nor the turn of the others. */
  broken(error: unknown): void;
}

let users: DeferredTask[] = [];

/** Calls `user.runDeferred` once everybody has read. Whoever asks sees to it that it does so once. */
export function defer(user: DeferredTask): void {
  if (users.push(user) === 1) setImmediate(run);
}

function run(): void {
  const present = users;
  users = [];
  for (const user of present) {
    try {
      user.runDeferred();
    } catch (error) {
      user.broken(error);
    }
  }
}

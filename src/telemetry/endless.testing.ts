import { runInNewContext } from 'node:vm';

/** Stops work that would take hours, and that the limit of the test runner cannot stop. @throws Error after a minute */
export const withoutEndlessWork = (work: () => void): unknown =>
  runInNewContext('work()', { work }, { timeout: 60_000 });

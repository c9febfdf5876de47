import { within } from '../../within.ts';

/** After the end of the policy, calls may go on for this long. */
const graceMs = 5_000;

/** Calls of the provider that may outlive their request, such as the revocation after a logout. */
export class OpenCalls {
  private readonly open = new Set<Promise<unknown>>();

  /** @param call never rejects */
  add<Result>(call: Promise<Result>): Promise<Result> {
    this.open.add(call);
    void call.then(() => this.open.delete(call));
    return call;
  }

  /** Runs `end` when the calls are over, or after the grace; at once without calls. */
  endAfter(end: () => void): void {
    if (this.open.size === 0) end();
    else void within(graceMs, Promise.all(this.open)).then(end);
  }
}

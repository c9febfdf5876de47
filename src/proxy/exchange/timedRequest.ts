import { GatewayError } from '../../errors.ts';
import { ReceivedRequest } from './receivedRequest.ts';

type TimeLimit = 'requestTimeout' | 'backendRequestTimeout';

/** The error of a request that took longer than its policy allows. */
export const timeLimit = (limit: TimeLimit): GatewayError =>
  new GatewayError('upstream_timeout', {
    detail: `timeout.${limit}`,
    by: { policy: 'timeout', place: `.${limit}` },
  });

/** A request and the time limits that policies and backends set for it. */
export abstract class TimedRequest extends ReceivedRequest {
  backendMs: number | undefined;
  /** A policy limits the time of the whole exchange. */
  limited = false;
  private requestMs: number | undefined;
  private limitTimers: NodeJS.Timeout[] | undefined;
  private timers: NodeJS.Timeout[] | undefined;

  /** Ends the exchange of the request with an error. */
  abstract abort(error: GatewayError): void;

  limitRequest(ms: number): void {
    this.limited = true;
    this.requestMs = Math.min(this.requestMs ?? ms, ms);
    (this.limitTimers ??= []).push(this.arm(ms, 'requestTimeout'));
  }

  /**
   * Takes the time limits of policies off the exchange: the backend keeps the time of what it is asked by itself.
   * @returns the shortest of them in milliseconds; undefined where there is none
   */
  liftLimits(): number | undefined {
    const { requestMs, backendMs } = this;
    for (const timer of this.limitTimers ?? []) clearTimeout(timer);
    this.limitTimers = undefined;
    this.backendMs = undefined;
    if (requestMs === undefined || backendMs === undefined) return requestMs ?? backendMs;
    return Math.min(requestMs, backendMs);
  }

  limitBackend(ms: number): void {
    this.backendMs = ms;
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Runs after so many milliseconds, unless the exchange ends before. */
  after(ms: number, run: () => void): NodeJS.Timeout {
    const timer = setTimeout(run, ms);
    if (this.closed) clearTimeout(timer);
    else (this.timers ??= []).push(timer);
    return timer;
  }

  /** The time of the chosen backend runs from now. */
  protected armBackend(): void {
    if (this.backendMs !== undefined) this.arm(this.backendMs, 'backendRequestTimeout');
  }

  protected clearTimers(): void {
    if (this.timers !== undefined) for (const timer of this.timers) clearTimeout(timer);
  }

  private arm(ms: number, limit: TimeLimit): NodeJS.Timeout {
    return this.after(ms, () => this.abort(timeLimit(limit)));
  }
}

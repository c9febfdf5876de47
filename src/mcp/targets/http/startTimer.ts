import type { GatewayError } from '../../../errors.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { HttpTransport } from './httpTransport.ts';

/** From initialize to its response, in milliseconds, where the target has no limit of its own. */
const startTimeoutMs = 60_000;

/** The steps that the beginning of a session with a server waits for, one after the other. */
export class StartTimer {
  private readonly transport: HttpTransport;
  private timer: NodeJS.Timeout | undefined;

  constructor(transport: HttpTransport) {
    this.transport = transport;
  }

  /** The time for each step, in milliseconds. */
  get ms(): number {
    return this.transport.reach.callTimeoutMs ?? startTimeoutMs;
  }

  /** The error for a step that took too long. */
  get error(): GatewayError {
    const what = `did not answer initialize within ${this.ms} ms`;
    return targetError('mcp_target_timeout', this.transport.name, what);
  }

  /** @param late runs when the server takes longer than that */
  arm(late: () => void): void {
    this.after(this.ms, late);
  }

  after(ms: number, then: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(then, ms).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

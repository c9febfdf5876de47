import type { GatewayError } from '../../../errors.ts';
import type { Reach } from '../../contract.ts';
import { targetError } from '../../messages/rpcError.ts';

/** From initialize to its response, in milliseconds, where the target has no limit of its own. */
const startTimeoutMs = 60_000;

/** The server that is waited for. */
interface AwaitedServer {
  readonly name: string;
  readonly reach: Reach;
}

/** The steps that the beginning of a session with a server waits for, one after the other. */
export class StartTimer {
  private readonly server: AwaitedServer;
  /** The request that is waited for. */
  private readonly method: () => string;
  private timer: NodeJS.Timeout | undefined;

  constructor(server: AwaitedServer, method: () => string) {
    this.server = server;
    this.method = method;
  }

  /** The time for each step, in milliseconds. */
  get ms(): number {
    return this.server.reach.callTimeoutMs ?? startTimeoutMs;
  }

  /** The error for a step that took too long. */
  get error(): GatewayError {
    const what = `did not answer ${this.method()} within ${this.ms} ms`;
    return targetError('mcp_target_timeout', this.server.name, what);
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

import { NotEvaluated } from '../../errors.ts';
import type { Reply, ReplyStream } from '../../http/index.ts';
import { LiveExchange } from '../exchange/liveExchange.ts';
import { sendError } from '../exchange/sendError.ts';

/** Thrown where the request would leave for its backend. */
class BackendReached extends Error {}

/** A request that takes the way of every other, up to the moment in which it would be answered or reachedBackend. */
export class TrialExchange extends LiveExchange {
  payload: Buffer = Buffer.alloc(0);
  /** Judges the messages of a request for an MCP backend. */
  judge: (() => Promise<void>) | undefined;
  /** The backend would get the request. */
  reachedBackend = false;
  /** The reason why the end is not known. */
  notEvaluated: string | undefined;

  override readBody(): Promise<Buffer> {
    return Promise.resolve(this.payload);
  }

  override send(reply: Reply): void {
    if (this.started || this.closed) return;
    this.begin(reply.status);
    this.finish();
  }

  override open(): ReplyStream {
    throw new Error('only a backend answers with a stream');
  }

  override backendChosen(name: string): void {
    this.backend = name;
    throw new BackendReached();
  }

  override fail(error: unknown): void {
    if (error instanceof BackendReached) {
      this.reached();
      return;
    }
    if (error instanceof NotEvaluated) this.notEvaluated = error.message;
    else {
      sendError(this, error);
      return;
    }
    this.finish();
  }

  private reached(): void {
    this.reachedBackend = true;
    if (this.judge === undefined) this.finish();
    else
      this.judge().then(
        () => this.finish(),
        (error: unknown) => {
          this.reachedBackend = false;
          this.fail(error);
        },
      );
  }
}

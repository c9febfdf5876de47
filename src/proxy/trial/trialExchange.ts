import { GatewayError, NotEvaluated } from '../../errors.ts';
import { GatheredBytes } from '../../gatheredBytes.ts';
import type { Reply, ReplyStream } from '../../http/index.ts';
import { LiveExchange } from '../exchange/liveExchange.ts';
import { sendError } from '../exchange/sendError.ts';

/** Thrown where the request would leave for its backend. */
class BackendReached extends Error {}

/** A request that takes the way of every other, up to the moment in which it would be answered or reachedBackend. */
export class TrialExchange extends LiveExchange {
  private payload: Buffer | GatewayError = Buffer.alloc(0);
  /** Judges the messages of a request for an MCP backend. */
  judge: (() => Promise<void>) | undefined;
  /** The backend would get the request. */
  reachedBackend = false;
  /** The reason why the end is not known. */
  notEvaluated: string | undefined;

  /**
   * Reads the body from the bytes behind the head, as a connection does. Further bytes belong to another request.
   * @param most bytes of a body; 0: any number
   */
  receive(bytes: Buffer, most: number): void {
    const { body, head } = this;
    const gathered = new GatheredBytes();
    const end = head.chunked
      ? body.take(bytes, 0, bytes.length, (chunk, from, to) => gathered.add(chunk, from, to))
      : body.take(bytes, 0, bytes.length);
    if (end < 0) this.payload = new GatewayError('bad_chunk');
    else if (most !== 0 && body.payload > most) this.payload = new GatewayError('body_too_large');
    else if (!body.done)
      this.payload = new GatewayError('request_timeout', { detail: 'the body is not complete' });
    else this.payload = head.chunked ? gathered.whole() : bytes.subarray(0, end);
  }

  /** @throws GatewayError for a body that no backend would get whole, because it is malformed or too large */
  checkBody(): void {
    const { payload } = this;
    if (payload instanceof GatewayError && payload.code !== 'request_timeout') throw payload;
  }

  override readBody(limitBytes: number): Promise<Buffer> {
    const { payload } = this;
    if (payload instanceof GatewayError) return Promise.reject(payload);
    return payload.length > limitBytes
      ? Promise.reject(new GatewayError('body_too_large'))
      : Promise.resolve(payload);
  }

  override holdBody(limitBytes: number): Promise<Buffer> {
    return this.readBody(limitBytes);
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

  /** An expression may be tried on the request after its end. */
  override finish(): void {
    this.keepLines();
    super.finish();
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

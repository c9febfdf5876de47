import { asGatewayError } from '../../errors.ts';
import { formatEvent, type HttpReply, type Reply, type ReplyStream } from '../../http/index.ts';
import { errorResponse } from '../messages/rpcError.ts';

/**
 * The one event stream of an HTTP+SSE session. It carries the answers to all POSTs of the session and the messages of
 * servers, each of which sees a stream of its own (`SsePart`).
 */
export class SseStream {
  /** The initialize of the client has come. */
  begun = false;
  private readonly stream: ReplyStream;
  /** Told when the client takes bytes again. */
  private readonly drains = new Set<() => void>();
  /** Answers to POSTs that are not complete. */
  private readonly answers = new Set<SseAnswer>();
  private isEnding = false;

  constructor(stream: ReplyStream) {
    this.stream = stream;
    stream.onDrain(() => {
      for (const drained of [...this.drains]) drained();
    });
  }

  /** Takes no further messages of the client: the stream ends when the answers are complete. */
  get ending(): boolean {
    return this.isEnding || this.stream.closed;
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  get pendingBytes(): number {
    return this.stream.pendingBytes;
  }

  /** Tells the client where its messages go. */
  nameEndpoint(target: string): void {
    this.stream.write(formatEvent(target, { event: 'endpoint' }));
  }

  write(chunk: string | Buffer): boolean {
    return this.stream.write(chunk);
  }

  destroy(): void {
    this.stream.destroy();
  }

  /** The stream for messages of servers; its end is the end of the whole stream. */
  news(): ReplyStream {
    return new SsePart(this, this.drains, () => this.end());
  }

  /**
   * The way back for the requests of a POST.
   * @param idText of the request, if it is one
   */
  answer(idText: string | undefined): SseAnswer {
    const answer = new SseAnswer(
      this,
      idText,
      () => new SsePart(this, this.drains, () => answer.finish()),
      () => this.completed(answer),
    );
    this.answers.add(answer);
    return answer;
  }

  /** Ends the stream as soon as every answer under way is complete. */
  end(): void {
    this.isEnding = true;
    if (this.answers.size === 0) this.stream.end();
  }

  /** The client is gone. */
  left(): void {
    this.isEnding = true;
    for (const answer of [...this.answers]) answer.finish();
  }

  private completed(answer: SseAnswer): void {
    if (this.answers.delete(answer) && this.isEnding && this.answers.size === 0) this.stream.end();
  }
}

/** A stream of its own for one writer. */
class SsePart implements ReplyStream {
  private readonly whole: SseStream;
  private readonly drains: Set<() => void>;
  private readonly onEnd: () => void;
  private ended = false;
  private release: () => void = () => undefined;

  constructor(whole: SseStream, drains: Set<() => void>, onEnd: () => void) {
    this.whole = whole;
    this.drains = drains;
    this.onEnd = onEnd;
  }

  get closed(): boolean {
    return this.ended || this.whole.closed;
  }

  get pendingBytes(): number {
    return this.whole.pendingBytes;
  }

  write(chunk: string | Buffer): boolean {
    return this.whole.write(chunk);
  }

  onDrain(listener: () => void): void {
    this.drains.add(listener);
    this.release = () => this.drains.delete(listener);
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.release();
    this.onEnd();
  }

  destroy(): void {
    this.whole.destroy();
  }
}

/** The answer to a POST of HTTP+SSE, which goes on the event stream of the session. */
export class SseAnswer implements HttpReply {
  started = false;
  readonly isShared = true;
  private readonly whole: SseStream;
  private readonly idText: string | undefined;
  private readonly part: () => ReplyStream;
  private readonly onComplete: () => void;
  private listeners: (() => void)[] = [];
  private complete = false;

  constructor(whole: SseStream, idText: string | undefined, part: () => ReplyStream, onComplete: () => void) {
    this.whole = whole;
    this.idText = idText;
    this.part = part;
    this.onComplete = onComplete;
  }

  get closed(): boolean {
    return this.complete || this.whole.closed;
  }

  send({ body }: Reply): void {
    this.started = true;
    // A receipt has no message for the client: the POST itself gets one.
    if (body !== undefined) this.whole.write(formatEvent(body.toString(), { event: 'message' }));
    this.finish();
  }

  open(): ReplyStream {
    this.started = true;
    return this.part();
  }

  fail(error: unknown): void {
    const known = asGatewayError(error);
    this.send({ status: known.entry.status, body: errorResponse(known, this.idText) });
  }

  onClose(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** It is complete, or the client is gone. */
  finish(): void {
    if (this.complete) return;
    this.complete = true;
    for (const listener of this.listeners.splice(0)) listener();
    this.onComplete();
  }
}

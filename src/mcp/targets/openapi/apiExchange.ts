import type { ErrorCode } from '../../../errors.ts';
import { GatheredBytes } from '../../../gatheredBytes.ts';
import { idempotentMethods, type Head } from '../../../http/index.ts';
import { OwnRequest, type Destination, type ResponseHandler } from '../../../upstream/index.ts';
import type { ApiRequest } from './apiRequest.ts';

/** The whole answer of an API. */
export interface ApiAnswer {
  readonly status: number;
  /** The media type, in lower case where it names no parameter; empty where the answer has none. */
  readonly type: string;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
  /** The body is longer; the rest was not read. */
  readonly cut: boolean;
}

export interface ExchangeLimits {
  readonly maxBytes: number;
  /** Without a byte of the body, in milliseconds. */
  readonly bodyTimeoutMs: number;
}

/** Hears of the end of an exchange: exactly one of them, once, unless the exchange is abandoned. */
export interface ExchangeEnd {
  answered(answer: ApiAnswer): void;
  failed(code: ErrorCode, detail: string): void;
  /** The answer is larger than it may be, or in a coding that the gateway did not ask for. */
  unusable(what: string, isTooLarge: boolean): void;
}

/** The bytes that are read of an answer that is a failure. */
const maxProblemBytes = 16_384;

/** A call as a request of the API, from the choice of a connection to the end of the answer. */
export class ApiExchange implements ResponseHandler {
  private readonly request: OwnRequest;
  private readonly limits: ExchangeLimits;
  private readonly end: ExchangeEnd;
  private readonly bodiless: boolean;
  private answer: Omit<ApiAnswer, 'body' | 'cut'> | undefined;
  private body = new GatheredBytes();
  private lastByteAt = 0;
  private over = false;
  private paused = false;

  /** @param patient a limit of the call takes the place of the general one */
  constructor(
    method: string,
    { head, body }: ApiRequest,
    destination: Destination,
    patient: boolean,
    limits: ExchangeLimits,
    end: ExchangeEnd,
  ) {
    this.limits = limits;
    this.end = end;
    this.bodiless = method === 'HEAD';
    this.request = new OwnRequest(
      {
        destination,
        head,
        ...(body === undefined ? {} : { body }),
        bodiless: this.bodiless,
        repeatable: idempotentMethods.has(method),
        patient,
      },
      this,
    );
  }

  begin(): void {
    this.request.begin();
  }

  get backlog(): number {
    return this.request.backlog;
  }

  pause(): void {
    this.paused = true;
    this.request.pause();
  }

  resume(): void {
    this.paused = false;
    this.lastByteAt = performance.now();
    this.request.resume();
  }

  abandon(): void {
    this.over = true;
    this.body = new GatheredBytes();
    this.request.abandon();
  }

  /** @param now `performance.now()` */
  tick(now: number): void {
    if (this.over || this.paused || this.answer === undefined) return;
    if (now - this.lastByteAt <= this.limits.bodyTimeoutMs) return;
    this.abandon();
    this.end.failed('upstream_timeout', 'limits.bodyTimeout');
  }

  // ResponseHandler

  onHead(head: Head): void {
    this.lastByteAt = performance.now();
    this.answer = {
      status: head.status,
      type: head.get('content-type')?.trim() ?? '',
      location: head.get('location'),
      retryAfter: head.get('retry-after'),
    };
    const coding = head.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
    if (coding !== 'identity' && !this.bodiless && head.status !== 204 && head.status !== 304)
      this.refuse(
        `answered with content-encoding ${coding.slice(0, 32)}, which the gateway did not ask for`,
        false,
      );
    else if (this.isSuccess && !this.bodiless && head.contentLength > this.limits.maxBytes) this.tooLarge();
    else if (this.isSuccess) this.body = new GatheredBytes(head.contentLength);
  }

  onBytes(bytes: Buffer, from: number, to: number): void {
    this.lastByteAt = performance.now();
    const most = this.isSuccess ? this.limits.maxBytes : Math.min(maxProblemBytes, this.limits.maxBytes);
    const room = most - this.body.length;
    if (this.isSuccess && room < to - from) {
      this.tooLarge();
      return;
    }
    this.body.add(bytes, from, Math.min(to, from + room));
    // The beginning of an error tells enough.
    if (room < to - from) this.finish(true);
  }

  onEnd(): void {
    this.finish(false);
  }

  onFailure(code: ErrorCode, detail: string): void {
    if (this.over) return;
    this.over = true;
    this.end.failed(code, detail);
  }

  private get isSuccess(): boolean {
    const status = this.answer?.status ?? 0;
    return status >= 200 && status <= 299;
  }

  private finish(cut: boolean): void {
    if (this.over || this.answer === undefined) return;
    const { answer } = this;
    const body = this.body.whole();
    this.abandon();
    this.end.answered({ ...answer, body, cut });
  }

  private tooLarge(): void {
    this.refuse('answered with more than limits.maxMcpMessageBytes', true);
  }

  private refuse(what: string, isTooLarge: boolean): void {
    if (this.over) return;
    this.abandon();
    this.end.unusable(what, isTooLarge);
  }
}

import type { ErrorCode } from '../errors.ts';
import {
  Body,
  COMPLETE,
  FRAMING,
  hasNoBody,
  INCOMPLETE,
  KIND,
  parseResponse,
  type Head,
  type HeadLimits,
  type HeadPool,
} from '../http/index.ts';
import type { ReadBuffers } from './buffers.ts';
import type { ExchangeHandler } from './handlers.ts';

/** Interim answers to one request; more would only be there to fill the client's connection. */
const INFORMATIONAL_MOST = 32;

/** The connection whose answers are read. */
export interface ResponseReaderHost {
  /** False when the user has gone in the meantime. */
  isServing(user: ExchangeHandler): boolean;
  /**
   * An answer says nothing of its length: it will end with the connection.
   * @returns false where it could not be told whether that is all of it; the exchange has failed then
   */
  mayEndWithConnection(): boolean;
  /** The head of the final answer is here; its user hears of it next. */
  onHead(head: Head): void;
  /** @param keep nothing in the answer speaks against using the connection again */
  onComplete(keep: boolean): void;
  pause(): void;
  fail(code: ErrorCode, detail: string): void;
}

/** Reads answers from the bytes of a connection, one after the other: interim ones, the head, the body to its end. */
export class ResponseReader {
  /** The head of the final answer is here. */
  begun = false;
  private readonly host: ResponseReaderHost;
  private readonly buffers: ReadBuffers;
  private readonly limits: HeadLimits;
  private readonly heads: HeadPool;
  /** On loan while somebody looks at it: most connections are idle, or carry a stream that waits. */
  private head: Head | undefined;
  private readonly body = new Body();
  /** The beginning of a head that did not come whole. */
  private partialHead: Buffer | undefined;
  private headRequest = false;
  /** The request asks for another protocol: a 101 may come. */
  private maySwitch = false;
  private informational = 0;
  private keep = false;

  constructor(host: ResponseReaderHost, buffers: ReadBuffers, heads: HeadPool, limits: HeadLimits) {
    this.host = host;
    this.buffers = buffers;
    this.limits = limits;
    this.heads = heads;
  }

  /**
   * A request is sent.
   * @param headRequest the answer has no body whatever it says (RFC 9112 §6.3)
   * @param maySwitch the request asks for another protocol
   */
  begin(headRequest: boolean, maySwitch: boolean): void {
    this.headRequest = headRequest;
    this.maySwitch = maySwitch;
    this.begun = false;
    this.informational = 0;
  }

  /** No answer is waited for. */
  reset(): void {
    this.begun = false;
    this.releaseHead();
  }

  /** Gives the head back to its pool: the user has read it, and the body may go on for hours. */
  releaseHead(): void {
    if (this.head === undefined) return;
    this.heads.give(this.head);
    this.head = undefined;
  }

  /** The answer said how long it is. */
  get saysLength(): boolean {
    return this.body.kind === FRAMING.length || this.body.kind === FRAMING.chunked;
  }

  /** Bytes of the body that are known to come. */
  get remaining(): number {
    return this.begun ? this.body.remaining : 0;
  }

  /** The end of the connection is the end of the body (RFC 9112 §6.3). */
  get endsWithConnection(): boolean {
    return this.begun && this.body.kind === FRAMING.close;
  }

  /** Bytes of the answer, as they come. */
  read(user: ExchangeHandler, bytes: Buffer, length: number): void {
    if (this.begun) this.readBody(user, bytes, length);
    else this.readHead(user, bytes, length);
  }

  private readHead(user: ExchangeHandler, incoming: Buffer, incomingLength: number): void {
    let bytes = incoming;
    let length = incomingLength;
    if (this.partialHead !== undefined) {
      bytes = Buffer.concat([this.partialHead, incoming.subarray(0, incomingLength)]);
      length = bytes.length;
      this.partialHead = undefined;
    }
    const { host } = this;
    const head = (this.head ??= this.heads.take());
    let from = 0;
    for (;;) {
      const result = parseResponse(bytes, from, length, head, this.limits);
      if (result === INCOMPLETE) {
        this.partialHead = Buffer.from(bytes.subarray(from, length));
        return;
      }
      if (result !== COMPLETE) {
        host.fail('upstream_protocol', head.problem);
        return;
      }
      head.text = bytes.toString('latin1', from, from + head.length);
      from += head.length;
      if (head.status === 101) {
        this.switchProtocols(user, head, bytes, from, length);
        return;
      }
      if (head.status >= 200) break;
      if (++this.informational > INFORMATIONAL_MOST) {
        host.fail('upstream_protocol', 'too many interim answers');
        return;
      }
      user.onInformational(head);
      if (!host.isServing(user)) return;
      if (from === length) return;
    }
    this.beginBody(user, head, bytes, from, length);
  }

  private switchProtocols(
    user: ExchangeHandler,
    head: Head,
    bytes: Buffer,
    from: number,
    length: number,
  ): void {
    const { host } = this;
    if (!this.maySwitch || user.onSwitch === undefined)
      host.fail('upstream_protocol', 'an upgrade that nobody asked for');
    else if (!head.upgrade || (head.seen & (1 << KIND.upgrade)) === 0)
      host.fail('upstream_protocol', 'an upgrade to nothing');
    else user.onSwitch(head, bytes, from, length);
  }

  private beginBody(user: ExchangeHandler, head: Head, bytes: Buffer, from: number, length: number): void {
    const { body } = this;
    const bodyless = this.headRequest || hasNoBody(head.status);
    const untilClose = !bodyless && !head.chunked && head.contentLength < 0;
    if (untilClose && !this.host.mayEndWithConnection()) return;
    this.begun = true;
    this.host.onHead(head);
    this.keep = !head.close && (!head.http10 || head.keepAlive);
    if (bodyless) body.startNone();
    else if (head.chunked) body.startChunked('answer');
    else if (!untilClose) body.startLength(head.contentLength);
    else {
      body.startUntilClose();
      this.keep = false;
    }
    const to = this.take(bytes, from, length);
    if (to < 0) return;
    if (!body.done) this.buffers.expect(length, body.remaining);
    this.passed(user, user.onAnswer(head, bytes, from, to, body));
  }

  private readBody(user: ExchangeHandler, bytes: Buffer, length: number): void {
    this.buffers.expect(length, 0);
    const to = this.take(bytes, 0, length);
    if (to >= 0) this.passed(user, user.onBody(bytes, 0, to, this.body.done));
  }

  /** @returns where the part of the body to pass on ends, -1 where it is none */
  private take(bytes: Buffer, from: number, length: number): number {
    const { body } = this;
    const to = body.take(bytes, from, length);
    if (to < 0) {
      this.host.fail('upstream_protocol', 'bad chunk');
      return to;
    }
    // Bytes behind the answer belong to no request: never reuse such a connection.
    if (to < length) this.keep = false;
    return to - body.cut;
  }

  private passed(user: ExchangeHandler, more: boolean): void {
    const { host } = this;
    if (!host.isServing(user)) return;
    if (this.body.done) host.onComplete(this.keep);
    else if (!more) host.pause();
  }
}

/**
 * `Keep-Alive: timeout=5` tells when the backend will hang up: we leave a second before, to avoid the race.
 * @returns milliseconds
 */
export function idleHint(head: Head): number | undefined {
  const text = head.get('keep-alive');
  if (text === undefined) return undefined;
  // A server says the same each time.
  if (text !== lastHint.text) lastHint = { text, ms: readHint(text) };
  return lastHint.ms;
}

let lastHint: { readonly text: string; readonly ms: number | undefined } = { text: '', ms: undefined };

function readHint(text: string): number | undefined {
  const seconds = /timeout=(\d{1,6})/i.exec(text)?.[1];
  return seconds === undefined ? undefined : Math.max(0, Number(seconds) * 1000 - 1000);
}

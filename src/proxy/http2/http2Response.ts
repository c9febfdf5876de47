import {
  Body,
  COMPLETE,
  hasNoBody,
  Head,
  INCOMPLETE,
  parseResponse,
  trailerFields,
  type ServerStream,
} from '../../http/index.ts';

/** Heads of answers were checked where they came from, and fields were added since: only their end is looked for. */
const noLimits = {
  maxHeadBytes: 4_194_304,
  maxUriBytes: 0,
  maxMethodBytes: 0,
  maxHeaderNameBytes: 4_194_304,
};

/** Every head is read to its end before the next one is begun. */
const head = new Head(2_048);

/** Holds the text of a head while it is read. */
const scratch = Buffer.allocUnsafeSlow(65_536);

const EMPTY = Buffer.alloc(0);

/** Reads the answer to one request as it is written in HTTP/1.1, and sends what it stands for on a stream. */
export class Http2Response {
  /** The answer is complete. */
  done = false;
  private readonly stream: ServerStream;
  private readonly headRequest: boolean;
  private readonly body = new Body();
  private pending: Buffer | undefined;
  private begun = false;

  constructor(stream: ServerStream, headRequest: boolean) {
    this.stream = stream;
    this.headRequest = headRequest;
  }

  /** Takes the next part of the answer as text, a byte a character. @returns false when the client is slower */
  writeText(text: string): boolean {
    const { length } = text;
    if (length > scratch.length) return this.write(Buffer.from(text, 'latin1'), length);
    scratch.write(text, 0, 'latin1');
    return this.write(scratch, length);
  }

  /**
   * Takes the next bytes of the answer, up to `to`.
   * @param release is called when they are not needed any more; without it they are the caller's after this call
   * @returns false when the client reads slower than we write
   */
  write(given: Buffer, to: number, release?: () => void): boolean {
    if (this.begun) return this.writeBody(given, 0, to, release);
    let bytes = given;
    let end = to;
    if (this.pending !== undefined) {
      bytes = Buffer.concat([this.pending, given.subarray(0, to)]);
      end = bytes.length;
      this.pending = undefined;
    }
    const more = this.writeHeads(bytes, end);
    release?.();
    return more;
  }

  private writeHeads(bytes: Buffer, end: number): boolean {
    let from = 0;
    while (from < end) {
      const result = parseResponse(bytes, from, end, head, noLimits);
      if (result === INCOMPLETE) {
        this.pending = Buffer.from(bytes.subarray(from, end));
        return true;
      }
      if (result !== COMPLETE) throw new Error(`the generated response is invalid: ${head.problem}`);
      const { status } = head;
      const at = from;
      from += head.length;
      if (status >= 200) return this.begin(bytes, at, from, end);
      // 101 is for streams that asked for another protocol, which is 200 there (RFC 8441 §5).
      if (status === 101) {
        this.begun = true;
        this.stream.respond(head, bytes, at, 200, false, 'sec-websocket-accept');
        return true;
      }
      this.stream.respond(head, bytes, at, status, false);
    }
    return true;
  }

  private begin(bytes: Buffer, at: number, from: number, end: number): boolean {
    const { stream, body } = this;
    this.begun = true;
    if (this.headRequest || hasNoBody(head.status) || head.contentLength === 0) {
      this.done = true;
      stream.respond(head, bytes, at, head.status, true);
      return true;
    }
    if (head.chunked) {
      body.startChunked('answer');
      body.trailers = '';
    } else body.startLength(Math.max(0, head.contentLength));
    this.done = body.done;
    stream.respond(head, bytes, at, head.status, body.done);
    return body.done || from === end ? true : this.writeBody(bytes, from, end, undefined);
  }

  private writeBody(bytes: Buffer, from: number, to: number, release: (() => void) | undefined): boolean {
    const { stream, body } = this;
    if (this.done) {
      release?.();
      return true;
    }
    // `take` hands the payload of chunks over, but leaves that of a known length where it is.
    if (body.trailers === undefined) {
      const end = body.take(bytes, from, to);
      this.done = body.done;
      return stream.send(bytes, from, end, body.done, release);
    }
    let more = true;
    const taken = body.take(bytes, from, to, (chunk, start, end) => {
      if (end > start) more = stream.send(chunk, start, end, false);
    });
    release?.();
    if (taken < 0) throw new Error('the generated response is invalid: bad chunk');
    if (!body.done) return more;
    this.done = true;
    if (body.trailers === '') return stream.send(EMPTY, 0, 0, true);
    stream.sendTrailers(trailerFields(body.trailers));
    return more;
  }
}

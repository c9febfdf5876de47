import type { ServerHttp2Stream } from 'node:http2';
import {
  Body,
  COMPLETE,
  hasNoBody,
  Head,
  INCOMPLETE,
  parseResponse,
  responseFields,
  trailerFields,
} from '../http/index.ts';

/** Heads of answers were checked where they came from, and fields were added since: only their end is looked for. */
const noLimits = { maxHeadBytes: 4_194_304, maxUriBytes: 0 };

/** Every head is read to its end before the next one is begun. */
const head = new Head(2_048);

/** Reads the answer to one request as it is written in HTTP/1.1, and sends what it stands for on a stream. */
export class Http2Answer {
  /** The answer is complete. */
  done = false;
  private readonly stream: ServerHttp2Stream;
  private readonly headRequest: boolean;
  private readonly body = new Body();
  private pending: Buffer | undefined;
  private begun = false;

  constructor(stream: ServerHttp2Stream, headRequest: boolean) {
    this.stream = stream;
    this.headRequest = headRequest;
  }

  /**
   * Takes the next bytes of the answer.
   * @param lent the bytes belong to somebody else after this call
   * @returns false when the client reads slower than we write
   */
  write(given: Buffer, lent: boolean): boolean {
    if (this.begun) return this.writeBody(given, 0, lent);
    const bytes = this.pending === undefined ? given : Buffer.concat([this.pending, given]);
    this.pending = undefined;
    let from = 0;
    while (from < bytes.length) {
      const result = parseResponse(bytes, from, bytes.length, head, noLimits);
      if (result === INCOMPLETE) {
        this.pending = Buffer.from(bytes.subarray(from));
        return true;
      }
      if (result !== COMPLETE) throw new Error(`our own answer cannot be read: ${head.problem}`);
      head.text = bytes.toString('latin1', from, from + head.length);
      from += head.length;
      if (head.status >= 200) return this.begin(bytes, from, lent);
      // 101 is for streams that asked for another protocol, which is 200 there (RFC 8441 §5).
      if (head.status === 101) {
        this.begun = true;
        this.stream.respond(switched());
        return true;
      }
      this.stream.additionalHeaders(interim());
    }
    return true;
  }

  private begin(bytes: Buffer, from: number, lent: boolean): boolean {
    const { stream, body } = this;
    this.begun = true;
    if (this.headRequest || hasNoBody(head.status) || head.contentLength === 0) {
      this.done = true;
      stream.respond(responseFields(head), { endStream: true });
      return true;
    }
    if (head.chunked) {
      body.startChunked();
      body.trailers = '';
    } else body.startLength(Math.max(0, head.contentLength));
    stream.respond(responseFields(head), { waitForTrailers: head.chunked, endStream: body.done });
    if (head.chunked) stream.on('wantTrailers', () => this.sendTrailers());
    this.done = body.done;
    return body.done || from === bytes.length ? true : this.writeBody(bytes, from, lent);
  }

  private writeBody(bytes: Buffer, from: number, lent: boolean): boolean {
    const { stream, body } = this;
    const send = (chunk: Buffer, start: number, end: number): void => {
      const piece = chunk.subarray(start, end);
      if (end > start) stream.write(lent ? Buffer.from(piece) : piece);
    };
    const to = body.take(bytes, from, bytes.length, send);
    if (to < 0) throw new Error('our own answer cannot be read: bad chunk');
    // `take` hands the payload of chunks over, but leaves that of a known length where it is.
    if (body.trailers === undefined) send(bytes, from, to);
    if (body.done && !this.done) {
      this.done = true;
      stream.end();
    }
    return !stream.writableNeedDrain;
  }

  private sendTrailers(): void {
    const fields: Record<string, string[]> = {};
    for (const [name, value] of trailerFields(this.body.trailers ?? '')) (fields[name] ??= []).push(value);
    if (!this.stream.destroyed) this.stream.sendTrailers(fields);
  }
}

function interim(): Record<string, string | number | string[]> {
  const fields: Record<string, string | number | string[]> = { ':status': head.status };
  const flat = responseFields(head);
  for (let i = 2; i < flat.length; i += 2) {
    const name = flat[i] as string;
    const known = fields[name];
    fields[name] = Array.isArray(known) ? [...known, flat[i + 1] as string] : [flat[i + 1] as string];
  }
  return fields;
}

const switched = (): string[] => {
  const flat = responseFields(head, 200);
  return flat.filter((_, i) => flat[i - (i % 2)] !== 'sec-websocket-accept');
};

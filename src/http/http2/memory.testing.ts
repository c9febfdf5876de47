/** A connection of HTTP/2 without sockets: what a client sends goes in, and what it would get comes out. */
import { Head } from '../head.ts';
import { COMPLETE, parseResponse } from '../parse.ts';
import { FRAME, FRAME_DEFAULT, FRAME_HEAD, WINDOW_DEFAULT } from './codes.ts';
import type { ConnectionOwner } from './connectionOwner.ts';
import { ServerConnection } from './serverConnection.ts';
import type { RequestText } from './requestHead.ts';
import type { ServerSettings } from './settings.ts';
import type { ServerStream, StreamUser } from './stream.ts';
import type { Trailers } from './trailers.ts';

export { frame } from '../frame.testing.ts';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Fields as literals without indexing and without Huffman coding; shorter than 127 bytes each. */
export const block = (...fields: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(
    fields.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name, 'latin1'),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]),
  );

/** `GET /` of http://app.test/, or another method. */
export const head = (method = 'GET', ...more: readonly (readonly [string, string])[]): Buffer =>
  block([':method', method], [':scheme', 'http'], [':authority', 'app.test'], [':path', '/'], ...more);

/** The frames in these bytes. @throws Error where there is something else */
export function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < FRAME_HEAD) throw new Error('half a frame');
    const length = bytes.readUIntBE(at, 3);
    const end = at + FRAME_HEAD + length;
    if (length > FRAME_DEFAULT || end > bytes.length) throw new Error('a frame that is too long');
    frames.push({
      type: bytes[at + 3] as number,
      flags: bytes[at + 4] as number,
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + FRAME_HEAD, end),
    });
    at = end;
  }
  return frames;
}

const usual: ServerSettings = {
  maxStreams: 10,
  streamWindow: WINDOW_DEFAULT,
  connectionWindow: 1_048_576,
  maxFrameBytes: FRAME_DEFAULT,
  head: { maxBytes: 16_384, maxFields: 100 },
};

/** A request of a `MemoryConnection`, which records its result. */
export class MemoryStream implements StreamUser {
  readonly stream: ServerStream;
  readonly request: RequestText | undefined;
  body = '';
  trailers: Trailers | undefined;
  closed: number | 'in order' | undefined;
  drains = 0;

  constructor(stream: ServerStream, request: RequestText | undefined) {
    this.stream = stream;
    this.request = request;
  }

  onData(bytes: Buffer): void {
    this.body += bytes.toString('latin1');
  }

  onEnd(trailers: Trailers): void {
    this.trailers = trailers;
  }

  onDrain(): void {
    this.drains++;
  }

  onLeft(): void {}

  onClosed(code: number | undefined): void {
    this.closed = code ?? 'in order';
  }

  /** Answers with a head of HTTP/1.1. */
  respond(text: string, ends: boolean): void {
    const parsed = new Head(100);
    const bytes = Buffer.from(text, 'latin1');
    if (
      parseResponse(bytes, 0, bytes.length, parsed, {
        maxHeadBytes: 1_000_000,
        maxUriBytes: 0,
        maxMethodBytes: 0,
        maxHeaderNameBytes: 1_000_000,
      }) !== COMPLETE
    )
      throw new Error(parsed.problem);
    this.stream.respond(parsed, bytes, 0, parsed.status, ends);
  }
}

export class MemoryConnection implements ConnectionOwner {
  /** Memory of answers that waits for the client. */
  held = 0;

  holds(bytes: number): void {
    this.held += bytes;
  }

  readonly codec: ServerConnection;
  readonly streams: MemoryStream[] = [];
  readonly problems: string[] = [];
  /** The bytes that were handed on and are not out yet. */
  unsent = 0;
  nuisances = 0;
  usefulBytes = 0;
  pongs: number[] = [];
  error: number | undefined;
  /** Is called with each request. */
  private readonly serve: (stream: MemoryStream) => void;
  private out: Buffer[] = [];

  constructor(
    serve: (stream: MemoryStream) => void = () => undefined,
    settings: Partial<ServerSettings> = {},
  ) {
    this.serve = serve;
    this.codec = new ServerConnection({ ...usual, ...settings }, this);
  }

  take(...pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.codec.take(piece);
  }

  /** The frames written since the last call. */
  written(): Frame[] {
    return framesOf(this.bytes());
  }

  /** The same as bytes. */
  bytes(): Buffer {
    this.flush();
    const bytes = Buffer.concat(this.out);
    this.out = [];
    return bytes;
  }

  /** The same, without those that tell of settings and windows. */
  said(): Frame[] {
    return this.written().filter(({ type }) => type !== FRAME.settings && type !== FRAME.windowUpdate);
  }

  flush(): void {
    this.codec.flush({
      behind: () => this.unsent > 0,
      cork: () => undefined,
      uncork: () => undefined,
      write: (bytes, done) => {
        this.out.push(Buffer.from(bytes));
        done();
      },
    });
  }

  wake(): void {}

  request(stream: ServerStream, request: RequestText): void {
    this.open(stream, request);
  }

  refused(stream: ServerStream, problem: string): void {
    this.problems.push(problem);
    this.open(stream, undefined);
  }

  malformed(problem: string): void {
    this.problems.push(problem);
  }

  countControlFrame(): void {
    this.nuisances++;
  }

  useful(bytes: number): void {
    this.usefulBytes += bytes;
  }

  pong(payload: number): void {
    this.pongs.push(payload);
  }

  failed(code: number): void {
    this.error = code;
  }

  private open(stream: ServerStream, request: RequestText | undefined): void {
    const user = new MemoryStream(stream, request);
    stream.user = user;
    this.streams.push(user);
    this.serve(user);
  }
}

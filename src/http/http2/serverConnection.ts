import { BodyReader } from './bodyReader.ts';
import { CODE, FLAG, FRAME, WINDOW_DEFAULT, WINDOW_MOST } from './codes.ts';
import type { ConnectionOwner } from './connectionOwner.ts';
import { FrameReader, PIECES, SKIPPED, WHOLE, type FrameSink } from './frameReader.ts';
import { checkFrame } from './frameRules.ts';
import { HeadReader } from './headReader.ts';
import { HeadWriter } from './headWriter.ts';
import { Output, type Sink } from './output.ts';
import { Sender } from './sender.ts';
import { ClientSettings, encodeSettings, type ServerSettings } from './settings.ts';
import type { ServerStream } from './stream.ts';
import { StreamTable } from './streamTable.ts';

const EMPTY = Buffer.alloc(0);

/** The server's side of a connection of HTTP/2 (RFC 9113), without its socket. */
export class ServerConnection implements FrameSink {
  stopped = false;
  readonly owner: ConnectionOwner;
  readonly settings: ServerSettings;
  readonly streams = new StreamTable();
  readonly sender: Sender;
  readonly heads: HeadWriter;
  private readonly output: Output;
  private readonly frames = new FrameReader(this);
  private readonly headReader = new HeadReader(this);
  private readonly bodyReader = new BodyReader(this);
  private readonly client = new ClientSettings();
  private begun = false;
  /** Our settings hold: the client has said so. */
  private agreed = false;
  /** Bytes that the client may send of all bodies, and those taken that it was not told of. */
  private window: number;
  private taken = 0;
  /** The present frame. */
  private type = 0;
  private flags = 0;
  private id = 0;

  constructor(settings: ServerSettings, owner: ConnectionOwner) {
    this.settings = settings;
    this.owner = owner;
    this.output = new Output(() => owner.wake());
    this.sender = new Sender(this.output, () => owner.unsent);
    this.heads = new HeadWriter(this.output);
    this.output.frame(FRAME.settings, 0, 0, encodeSettings(settings));
    this.window = Math.max(WINDOW_DEFAULT, settings.connectionWindow);
    if (this.window > WINDOW_DEFAULT) this.widen(0, this.window - WINDOW_DEFAULT);
  }

  /** The client has begun a head and not yet ended it: nothing else can come until it does. */
  get inHead(): boolean {
    return this.headReader.block.open;
  }

  /** The bytes that the client may send of a stream before it hears of more. */
  get streamWindow(): number {
    return this.agreed ? this.settings.streamWindow : WINDOW_DEFAULT;
  }

  /** The bytes that the client takes of a stream before it says more. */
  get clientWindow(): number {
    return this.client.window;
  }

  /** Takes bytes of the client. */
  take(bytes: Buffer): void {
    this.frames.take(bytes);
  }

  /** Hands on what was written, and lets streams go on that waited for room. */
  flush(sink: Sink): void {
    this.output.flush(sink);
    this.sender.run();
  }

  ping(payload: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32BE(payload, 4);
    this.output.frame(FRAME.ping, 0, 0, bytes);
  }

  /** There will be an end: the client shall open no further streams, but those on their way are served. */
  announceEnd(): void {
    this.goAway(WINDOW_MOST, CODE.none);
  }

  /** Takes no further streams. */
  refuseNew(): void {
    this.streams.last = this.streams.past.latest;
    this.goAway(this.streams.last, CODE.none);
  }

  /** Ends the connection with an error. */
  fail(code: number, reason: string): void {
    if (this.stopped) return;
    this.stopped = true;
    // Refused streams were not served, and the number never grows (RFC 9113 §6.8).
    this.goAway(Math.min(this.streams.last, this.streams.past.latest), code);
    this.owner.failed(code, reason);
  }

  /** Drops the connection: it writes no further bytes. */
  drop(): void {
    this.stopped = true;
    this.output.drop();
  }

  // Requests of streams

  resetStream(id: number, code: number): void {
    if (!this.stopped) this.output.number(FRAME.reset, id, code);
  }

  forget(stream: ServerStream): void {
    this.streams.remove(stream);
    this.sender.forget(stream);
    // Bytes that the client may still send are no waste of its own.
    if (!stream.inbound.ended) this.owner.useful(Math.max(0, stream.inbound.window));
  }

  /** Tells the client that it may send so many bytes more. */
  widen(stream: number, bytes: number): void {
    if (!this.stopped) this.output.number(FRAME.windowUpdate, stream, bytes);
  }

  /** Bytes of a body are coming. @returns false where the client may not send so many */
  charge(bytes: number): boolean {
    this.window -= bytes;
    return this.window >= 0;
  }

  /** Bytes of bodies are off our hands. */
  credit(bytes: number): void {
    this.taken += bytes;
    if (this.taken < this.settings.connectionWindow / 2) return;
    this.widen(0, this.taken);
    this.window += this.taken;
    this.taken = 0;
  }

  // FrameSink

  notHttp2(): void {
    this.fail(CODE.protocol, 'no preface');
  }

  begin(type: number, flags: number, id: number, length: number): number {
    this.type = type;
    this.flags = flags;
    this.id = id;
    const problem =
      this.place(type, flags, id) || checkFrame(type, flags, id, length, this.settings.maxFrameBytes);
    this.begun = true;
    if (problem !== CODE.none) this.fail(problem, `a frame of type ${type} that may not be here`);
    else if (type === FRAME.data) this.bodyReader.begin(id, flags, length);
    else if (type === FRAME.headers) this.headReader.begin(id, flags);
    if (this.stopped || type > FRAME.continuation || type === FRAME.goAway) return SKIPPED;
    return type === FRAME.data ? PIECES : WHOLE;
  }

  whole(bytes: Buffer, from: number, to: number): void {
    switch (this.type) {
      case FRAME.headers:
        this.headReader.headers(bytes, from, to, this.flags);
        break;
      case FRAME.continuation:
        this.headReader.continuation(bytes, from, to, this.flags);
        break;
      case FRAME.priority:
        // RFC 7540 §5.3.1; RFC 9113 has no use for priorities any more and does not say that they may be nonsense.
        if ((bytes.readUInt32BE(from) & WINDOW_MOST) === this.id)
          this.fail(CODE.protocol, 'a stream before itself');
        break;
      case FRAME.reset:
        this.reset(bytes.readUInt32BE(from));
        break;
      case FRAME.settings:
        if ((this.flags & FLAG.ack) === 0) this.clientSettings(bytes, from, to);
        else this.agree();
        break;
      case FRAME.ping:
        if ((this.flags & FLAG.ack) !== 0) this.owner.pong(bytes.readUInt32BE(from + 4));
        else {
          this.output.frame(FRAME.ping, FLAG.ack, 0, bytes.subarray(from, to));
          // Clients of gRPC measure the line with a PING behind a part of an answer, one at a time.
          if (!this.output.takeData()) this.owner.countControlFrame();
        }
        break;
      default:
        this.widened(bytes.readUInt32BE(from) & WINDOW_MOST);
    }
  }

  piece(bytes: Buffer, from: number, to: number, last: boolean): void {
    this.bodyReader.piece(bytes, from, to, last);
  }

  /** Settings come first, and nothing comes between the frames of a head. */
  private place(type: number, flags: number, id: number): number {
    if (!this.begun && (type !== FRAME.settings || (flags & FLAG.ack) !== 0)) return CODE.protocol;
    const { block } = this.headReader;
    const continues = type === FRAME.continuation;
    return block.open !== continues || (continues && id !== block.stream) ? CODE.protocol : CODE.none;
  }

  private reset(code: number): void {
    const stream = this.streams.get(this.id);
    if (stream === undefined && this.streams.isIdle(this.id)) {
      this.fail(CODE.protocol, 'a reset of what was never opened');
      return;
    }
    // Streams opened only to be taken back are work without an answer (CVE-2023-44487).
    this.owner.countControlFrame();
    stream?.left(code);
    this.streams.past.ended(this.id);
  }

  private agree(): void {
    this.owner.countControlFrame();
    if (this.agreed) return;
    this.agreed = true;
    const more = this.settings.streamWindow - WINDOW_DEFAULT;
    for (const { inbound } of this.streams.all()) inbound.window += more;
  }

  private clientSettings(bytes: Buffer, from: number, to: number): void {
    this.owner.countControlFrame();
    const { window } = this.client;
    const problem = this.client.take(bytes, from, to);
    if (problem !== CODE.none) {
      this.fail(problem, 'settings that may not be');
      return;
    }
    const more = this.client.window - window;
    for (const stream of more === 0 ? [] : this.streams.all())
      if (!stream.widen(more)) {
        this.fail(CODE.flowControl, 'a window beyond all bounds');
        return;
      }
    this.output.frame(FRAME.settings, FLAG.ack, 0, EMPTY);
    this.sender.run();
  }

  private widened(bytes: number): void {
    const { id, sender } = this;
    const stream = this.streams.get(id);
    if (id === 0) {
      sender.window += bytes;
      if (bytes === 0) this.fail(CODE.protocol, 'a window that does not grow');
      else if (sender.window > WINDOW_MOST) this.fail(CODE.flowControl, 'a window beyond all bounds');
    } else if (stream === undefined) {
      if (this.streams.isIdle(id)) this.fail(CODE.protocol, 'a window of what was never opened');
    } else if (bytes === 0) stream.fail(CODE.protocol, 'a window that does not grow');
    else if (!stream.widen(bytes)) stream.fail(CODE.flowControl, 'a window beyond all bounds');
    if (!this.stopped) sender.run();
  }

  private goAway(last: number, code: number): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(last, 0);
    payload.writeUInt32BE(code, 4);
    this.output.frame(FRAME.goAway, 0, 0, payload);
  }
}

import { DECODED, HpackDecoder, TOO_LARGE, type FieldSink } from '../hpack/decoder.ts';
import { CODE, FLAG, FRAME_DEFAULT } from './codes.ts';
import type { ConnectionOwner } from './connectionOwner.ts';
import { HeadBlock } from './headBlock.ts';
import { RequestHead } from './requestHead.ts';
import type { ServerSettings } from './settings.ts';
import { ServerStream, type StreamConnection } from './stream.ts';
import type { StreamTable } from './streamTable.ts';
import { TrailerFields } from './trailers.ts';

const nothing: FieldSink = { field: () => undefined };
/** Every head is read to its end before the next one is begun. */
const requestHead = new RequestHead();

/** The connection that requests come in on. */
interface RequestConnection extends StreamConnection {
  readonly owner: ConnectionOwner;
  readonly settings: ServerSettings;
  readonly streams: StreamTable;
  /** The connection has failed: nothing is read any more. */
  readonly stopped: boolean;
  /** Ends the connection with an error. */
  fail(code: number, reason: string): void;
}

/** Reads the heads and trailers of requests from their frames. */
export class HeadReader {
  readonly block = new HeadBlock();
  private readonly connection: RequestConnection;
  private readonly decoder = new HpackDecoder();

  constructor(connection: RequestConnection) {
    this.connection = connection;
  }

  /** HEADERS has begun. */
  begin(id: number, flags: number): void {
    const { connection, block } = this;
    const { streams } = connection;
    const opens = id > streams.past.latest;
    if (opens) streams.past.open(id);
    else {
      const stream = streams.get(id);
      const code = stream === undefined ? streams.lateness(id) : stream.inbound.ended ? CODE.streamClosed : 0;
      if (code !== CODE.none) {
        connection.fail(code, 'HEADERS of a stream that has ended');
        return;
      }
    }
    block.begin(id, (flags & FLAG.endStream) !== 0, opens);
  }

  headers(bytes: Buffer, from: number, to: number, flags: number): void {
    const problem = this.block.headers(bytes, from, to, flags);
    if (problem === undefined) this.go();
    else this.connection.fail(CODE.protocol, problem);
  }

  continuation(bytes: Buffer, from: number, to: number, flags: number): void {
    this.block.add(bytes, from, to, flags);
    this.go();
  }

  private go(): void {
    const { block, connection } = this;
    // Huffman coding can make a string longer, and lists are counted decoded: more than that is nothing sane.
    if (block.length > 4 * connection.settings.head.maxBytes + FRAME_DEFAULT)
      connection.fail(CODE.enhanceYourCalm, 'a head without an end');
    else if (!block.open) {
      if (block.opens) this.request();
      else this.trailers();
    }
  }

  private request(): void {
    const { connection, block } = this;
    const { streams, settings, owner } = connection;
    const id = block.stream;
    const bodyless = block.ends;
    requestHead.reset();
    const refuses = id > streams.last || streams.size >= settings.maxStreams;
    // Also what is refused is decoded: what comes behind builds on it (RFC 9113 §4.3).
    const result = this.decode(refuses ? nothing : requestHead);
    if (connection.stopped) return;
    if (bodyless) streams.past.ended(id);
    if (refuses || result === TOO_LARGE) {
      if (!refuses) owner.malformed('head too large');
      connection.resetStream(id, refuses ? CODE.refusedStream : CODE.enhanceYourCalm);
      owner.countControlFrame();
      return;
    }
    const read = requestHead.read(bodyless);
    const malformed = 'problem' in read && read.malformed ? read.problem : undefined;
    if (malformed !== undefined || block.dependsOnItself) {
      owner.malformed(malformed ?? 'a stream before itself');
      connection.resetStream(id, CODE.protocol);
      owner.countControlFrame();
      return;
    }
    const stream = new ServerStream(connection, id);
    stream.inbound.ended = bodyless;
    streams.add(stream);
    if ('problem' in read) owner.refused(stream, read.problem);
    else {
      owner.useful(read.text.length);
      owner.request(stream, read, bodyless);
    }
  }

  private trailers(): void {
    const { connection, block } = this;
    const { streams } = connection;
    const stream = streams.get(block.stream);
    const fields = new TrailerFields();
    const result = this.decode(stream === undefined ? nothing : fields);
    if (connection.stopped) return;
    if (stream === undefined) {
      if (block.ends) streams.past.ended(block.stream);
    } else if (result === TOO_LARGE) stream.fail(CODE.enhanceYourCalm, 'trailers too large');
    else if (!block.ends) stream.fail(CODE.protocol, 'a second head');
    else if (fields.flaw !== undefined) stream.fail(CODE.protocol, fields.flaw);
    else stream.inbound.end(fields.lines);
  }

  private decode(sink: FieldSink): number {
    const { connection, block } = this;
    const result = this.decoder.decode(block.bytes, block.from, block.to, connection.settings.head, sink);
    if (result !== DECODED && result !== TOO_LARGE)
      connection.fail(CODE.compression, 'a head that cannot be decoded');
    block.release();
    return result;
  }
}

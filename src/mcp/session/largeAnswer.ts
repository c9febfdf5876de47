/** The ways to a client for a response that is sent while it arrives. */

import { GatewayError } from '../../errors.ts';
import type { MemberView } from '../json/responseScan.ts';
import type { EventSink } from './eventSink.ts';
import type { PacedStream } from './pacedStream.ts';

/** Changes in a result on its way to a client. */
export interface ResultChanges {
  /** The id that the client's request has, as the client wrote it. */
  readonly idText: string;
  readonly view: MemberView;
  /** Members that the result gets at its end, as JSON text. @param seen the watched members that it has */
  addedMembers(seen: ReadonlySet<string>): string;
}

/** Sends one response in parts. */
export interface ResponseParts {
  /** Changes that the client needs; undefined for none but the id of its request. */
  readonly changes?: ResultChanges;
  /** @param release as in `ReplyStream` */
  write(bytes: Buffer, release?: () => void): void;
  end(): void;
  /**
   * The rest of the response will not come.
   * @param refusal the response that takes its place where the client can still get one
   * @param why `cancelled`: the client left, or took its request back
   */
  breakOff(refusal: string, why: 'cancelled' | 'error'): void;
}

/** The error for a client that cannot get the rest of a response. */
export const brokenOff = (): GatewayError => new GatewayError('mcp_response_broken');

/** A body of JSON. It has no place for an error behind a part of a response: its end is missing then. */
export class JsonParts implements ResponseParts {
  private readonly stream: PacedStream;

  constructor(stream: PacedStream) {
    this.stream = stream;
  }

  write(bytes: Buffer, release?: () => void): void {
    this.stream.write(bytes, release);
  }

  end(): void {
    this.stream.end();
  }

  breakOff(_refusal: string, why: 'cancelled' | 'error'): void {
    this.stream.destroy(why === 'error' ? brokenOff() : undefined);
  }

  tick(): void {
    this.stream.tick();
  }

  dropped(): void {
    this.stream.ease();
  }
}

/** An event of a stream. Other events of the stream wait for its end. */
export class EventParts implements ResponseParts {
  private readonly sink: EventSink;
  private readonly onOver: () => void;

  /** @param onOver runs when the response is complete, be it by a refusal */
  constructor(sink: EventSink, onOver: () => void) {
    this.sink = sink;
    this.onOver = onOver;
  }

  write(bytes: Buffer, release?: () => void): void {
    this.sink.writePart(bytes, release);
  }

  end(): void {
    this.sink.endParts();
    this.onOver();
  }

  breakOff(refusal: string): void {
    this.sink.breakOffParts();
    this.sink.send(refusal);
    this.onOver();
  }
}

/** For a client that has left. */
export const nobody: ResponseParts = {
  write: (_bytes, release) => release?.(),
  end: () => undefined,
  breakOff: () => undefined,
};

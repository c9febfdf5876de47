import type { ClientCertificate, Networks } from '../../http/index.ts';
import type { Limits } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { UpstreamConnection } from '../../upstream/index.ts';
import type { TlsDetails } from '../connections/tlsDetails.ts';
import type { Compiled } from './compiled.ts';
import type { BodyConsumer, LiveExchange } from './liveExchange.ts';
import type { RelayLines } from '../connections/relayLines.ts';
import type { ReportedEnds } from '../connections/reportedEnds.ts';

/** The functions of its port that an exchange needs. */
export interface ExchangePort {
  /** The key of the bind. */
  readonly key: string;
  /** True where other workers come in, and not clients. */
  readonly inner: boolean;
  readonly log: Logger;
  readonly limits: Limits;
  /** The proxies that may state the client address; undefined if the configuration does not say. */
  readonly trustedProxies: Networks | undefined;
  /** The snapshot a request runs on. Whoever enters is `finished` later. */
  enter(): Compiled;
  /** The reason to refuse a request that has just entered, if there is too much to do; counted. */
  tooMuch(): string | undefined;
  /** An answer that `end` ends when a new configuration might not let it go on. @returns what takes that back */
  keepLongLived(x: LiveExchange, end: () => void): () => void;
  /** An exchange is over: counted and logged. */
  finished(x: LiveExchange): void;
}

/**
 * The functions of the client's side that an exchange needs. Answers are written as HTTP/1.1: to a connection of
 * that as they are, to a stream of HTTP/2 as the message they stand for. So there is one way to write an answer,
 * one place for each rule, and nothing is added to the path that most requests take.
 */
export interface ClientSide {
  readonly port: ExchangePort;
  /** The socket can delay writes with `cork`, and counts the bytes that the client has not taken yet. */
  readonly socket: {
    cork(): void;
    uncork(): void;
    readonly writableLength: number;
    readonly remotePort?: number | undefined;
    readonly localAddress?: string | undefined;
    readonly localPort?: number | undefined;
  };
  /** Absent where the connection is plain TCP. */
  readonly tls: TlsDetails | undefined;
  /** The ends that a proxy in front announced; absent if the client itself is at the other end. */
  readonly reported: ReportedEnds | undefined;
  readonly http2: boolean;
  readonly remoteAddress: string;
  /** The end of an X-Forwarded-For line for this client. */
  readonly forwardedFor: string;
  readonly clientCertificate: ClientCertificate | undefined;
  /** Ways to other workers that are this client's alone. */
  readonly lines: RelayLines;
  /** No further request after the present one. */
  readonly draining: boolean;
  /** The end of the connection is the end of the present answer. */
  untilClose: boolean;
  /** @returns false when the client reads slower than we write */
  write(data: string | Buffer): boolean;
  /** The same for text outside latin1. */
  writeText(text: string): boolean;
  /** The same for bytes that belong to somebody else, who gets them back when they are written. */
  writeLent(bytes: Buffer, release: () => void): boolean;
  /** Gives the request body to `consumer`, from its first byte. */
  consume(x: LiveExchange, consumer: BodyConsumer): void;
  /** The consumer cannot take more for now. */
  pauseBody(): void;
  resumeBody(x: LiveExchange): void;
  /** The answer to the present request is complete. */
  answered(x: LiveExchange): void;
  /** Is more of the request to come than we would read to keep the connection? Asked when the answer begins. */
  restIsTooMuch(x: LiveExchange): boolean;
  /** The exchange has switched protocols: from here on the bytes of both sides pass as they are. */
  tunnelTo(x: LiveExchange, upstream: UpstreamConnection, bytes: Buffer, from: number, to: number): void;
  /** Ends it so that the client sees that the answer is not all there. */
  destroy(): void;
  /** A defect of ours: it ends this and nothing else. */
  broken(error: unknown): void;
}

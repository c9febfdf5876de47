/**
 * A request and its answer, as everything above the wire sees them. `proxy` implements both on raw sockets;
 * `policies` and `mcp` only use them, so they can be tried without a socket (`exchange.testing.ts`).
 */

import type { DecidedBy, GatewayError } from '../errors.ts';

/** Name and value; the name in any case. */
export type HeaderLine = readonly [name: string, value: string];

/** Signs requests to a server, once everything else in them is decided. */
export interface RequestSigner {
  /** The signature covers the body, so the body must be whole before the head is sent. */
  readonly needsBody: boolean;
  /** Tells its credential from others, and gives nothing of the credential away. */
  readonly digest: string;
  /**
   * @param head request line, fields and the empty line, in latin1
   * @param body without its framing; looked at only with `needsBody`
   * @returns the head with its signature
   */
  sign(head: string, body: Buffer): string;
}

/** A credential that the gateway puts into the requests for a server. */
export interface SentCredential {
  /** Its place, even where a request leaves the place empty; absent for a credential that signs. */
  readonly place?: { readonly kind: 'header' | 'cookie' | 'query'; readonly name: string };
  /** The caller's own one, or one that is made for the caller; or the gateway's, which all callers share. */
  readonly of: 'caller' | 'gateway';
  /** Equal digests: the same credential, however often it is renewed. It gives nothing of the credential away. */
  readonly digest: string;
}

export interface HttpRequest {
  /** As sent, case-sensitive (RFC 9110 §9.1). */
  readonly method: string;
  /** Origin form: normalised path, and query where there is one, as it will be forwarded. */
  readonly target: string;
  /** Path part of `target`. */
  readonly path: string;
  /** After the `?`, without it; empty when there is none. */
  readonly query: string;
  /** Host name in lower case, without port; IPv6 literals keep their brackets. Empty only for HTTP/1.0 without Host. */
  readonly host: string;
  /** Host and port as sent, lower case. */
  readonly authority: string;
  readonly scheme: 'http' | 'https';
  /** `scheme`, raised to https where X-Forwarded-Proto says that a proxy in front ended TLS: for addresses to show. */
  readonly shownScheme: 'http' | 'https';
  /** `authority`, or the host and port that a trusted proxy was asked for: for addresses to show. */
  readonly shownAuthority: string;
  /** `HTTP/2.0`, `HTTP/1.1` or `HTTP/1.0`. */
  readonly version: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** The address of the other end, if that is a proxy that named the client (PROXY protocol). */
  readonly peer?: { readonly address: string; readonly port: number } | undefined;
  /** The name that the client asked for in the TLS handshake (SNI); absent where it named none, or without TLS. */
  readonly serverName?: string | undefined;
  /** The certificate that the client showed in the TLS handshake, verified; absent if it was not asked for. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** The request id: the client's where sane, otherwise a fresh one. */
  readonly id: string;
  /** `Date.now()` when the head was complete. */
  readonly startedAt: number;

  /** The value of a header in any case of name; several lines are joined with `, `, those of Cookie with `; `. */
  header(name: string): string | undefined;
  /** Every line as the client sent it, in order, names in lower case. */
  headerLines(): HeaderLine[];

  /**
   * The whole body in memory. Call at most once.
   * @throws GatewayError body_too_large, bad_chunk, request_timeout; rejects when the client leaves.
   */
  readBody(limitBytes: number): Promise<Buffer>;

  /** Adds a field to the access log line of this request (no secrets). */
  annotate(field: string, value: string | number): void;
  /** Notes the MCP item that the request names, as its server calls it. */
  uses?(item: {
    readonly kind: 'tool' | 'prompt' | 'resource';
    readonly target: string;
    readonly name: string;
  }): void;
  /** The time that the MCP server took for the last call, in milliseconds. */
  targetMs?: number | undefined;
  /** Begins a span for a call of an MCP server. Absent or undefined: the call is not traced. */
  traceCall?: ((call: TracedCall) => CallSpan | undefined) | undefined;
  /** Names the decision behind a refusal in the access log; the first one counts. A place is below its policy. */
  decided(by: DecidedBy): void;
}

/** A call of an MCP server, for its span: no text holds the form of a secret. */
export interface TracedCall {
  readonly method: string;
  /** MCP knows the method. */
  readonly isKnown: boolean;
  readonly target: string;
  readonly id: string;
  readonly item?: { readonly kind: string; readonly name: string } | undefined;
  /** The `traceparent` in the message. */
  readonly parent?: string | undefined;
}

/** The span of a call. */
export interface CallSpan {
  /** The `traceparent` for the server. */
  readonly traceparent: string;
  /** @param error the reason why the call failed */
  end(error?: string): void;
}

/** A certificate (X.509). Names are written as `C=…, O=…, CN=…`, in the order of the certificate. */
export interface ClientCertificate {
  readonly subject: string;
  readonly issuer: string;
  readonly subjectCn: string | undefined;
  /** Host names, addresses, mail addresses and URIs (`spiffe://…`), without their types. */
  readonly subjectAltNames: readonly string[];
  readonly pem: string;
}

/** A complete answer. `content-length`, `date` and `server` are added by the wire. */
export interface Reply {
  readonly status: number;
  readonly headers?: readonly HeaderLine[];
  readonly body?: string | Buffer;
}

/** The way back to the client. Exactly one of `send`, `open`, `fail` takes effect; later calls are ignored. */
export interface HttpReply {
  /** True once an answer has begun. */
  readonly started: boolean;
  /** Answers to other requests go on the same stream: only whole messages may be written. */
  readonly isShared?: boolean;
  /** True when the client is gone or the answer is complete. */
  readonly closed: boolean;
  send(reply: Reply): void;
  /** Begins an answer of unknown length (chunked; until close for HTTP/1.0). */
  open(status: number, headers: readonly HeaderLine[]): ReplyStream;
  /** Turns any thrown value into the catalogue's answer. */
  fail(error: unknown): void;
  /** Notes for the access log that the answer is an error of JSON-RPC, with its code. */
  refused?(error: GatewayError, rpcCode: number): void;
  /** Notes for the log and the records that a call ended with an error of the gateway, whatever the status is. */
  callFailed?(error: GatewayError, rpcCode: number): void;
  /** Runs once, when the answer is complete or the client left before it was. */
  onClose(listener: () => void): void;
}

export interface ReplyStream {
  readonly closed: boolean;
  /** Bytes accepted and not yet taken by the client. */
  readonly pendingBytes: number;
  /**
   * @param release hears that the stream needs the memory of the chunk no more; where the connection breaks, it may
   *   not hear of that
   * @returns false when the client reads slower than we write: wait for `onDrain`
   */
  write(chunk: string | Buffer, release?: () => void): boolean;
  onDrain(listener: () => void): void;
  end(): void;
  /**
   * Cuts the connection so that the client sees an incomplete answer.
   * @param error counts for the request; absent where the client is the cause
   */
  destroy(error?: GatewayError): void;
}

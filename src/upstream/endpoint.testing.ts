/** Endpoints on the loopback interface, and requests that record their outcome. */

import { once } from 'node:events';
import type { TestContext } from 'node:test';
import type { ErrorCode } from '../errors.ts';
import type { Body, Head } from '../http/index.ts';
import {
  defaults,
  type BackendTls,
  type Eviction,
  type Limits,
  type UpstreamSettings,
} from '../model/index.ts';
import { until } from '../until.testing.ts';
import { get, RawBackend, type BackendScript } from '../proxy/wire.testing.ts';
import { recordingLog } from '../mcp/harness.testing.ts';
import type { EndpointShare } from './connectionPool.ts';
import { Health } from './health.ts';
import { TlsMaterial } from './tls.ts';
import { Endpoint, type UpstreamConnection } from './upstreamConnection.ts';
import type { TunnelHandler, ExchangeHandler } from './handlers.ts';

/** A backend that ends with the test. */
export async function startBackend(t: TestContext, script: BackendScript): Promise<RawBackend> {
  const backend = await RawBackend.start(script);
  t.after(() => backend.close());
  return backend;
}

/** A port of the loopback interface on which no server listens. */
export async function closedPort(): Promise<number> {
  const backend = await RawBackend.start({});
  const { port } = backend;
  await backend.close();
  return port;
}

export interface EndpointInShort extends Partial<Omit<EndpointShare<UpstreamConnection>, 'tls'>> {
  readonly host?: string;
  readonly tls?: Partial<BackendTls>;
  readonly tier?: number;
  /** With an eviction the answers count for the health of the endpoint, too. */
  readonly eviction?: Eviction;
  readonly settings?: Partial<UpstreamSettings>;
  readonly process?: Partial<Limits>;
}

/** An endpoint that is closed when the test ends. */
export function endpointAt(t: TestContext, port: number, short: EndpointInShort = {}): Endpoint {
  const { host = '127.0.0.1', tier = 0, tls, eviction, settings, process: limits, ...share } = short;
  const trusting: BackendTls = { insecure: true, insecureHost: false, subjectAltNames: [] };
  const endpoint = new Endpoint(
    { host, port, tier },
    {
      limits: undefined,
      http2: false,
      onFree: undefined,
      ...share,
      tls: tls === undefined ? undefined : new TlsMaterial({ ...trusting, ...tls }, host, recordingLog().log),
    },
    new Health(
      eviction,
      () => true,
      () => undefined,
    ),
    eviction !== undefined,
    { ...defaults.upstream, ...settings },
    { ...defaults.limits, ...limits },
  );
  t.after(() => endpoint.close());
  return endpoint;
}

/** The way an exchange ended: with an answer, or with a failure. */
export interface Outcome {
  readonly status: number;
  /** The body, framing included. */
  readonly body: string;
  readonly failure?: ErrorCode;
  readonly detail?: string;
  readonly fresh?: boolean;
}

/** Sends requests and records what comes back. */
export class Asker implements ExchangeHandler {
  status = 0;
  body = '';
  readonly interim: number[] = [];
  /** The number of times that the connection became writable again. */
  writable = 0;
  connected = false;
  readonly patient: boolean;
  readonly outcome: Promise<Outcome>;
  private readonly end: (outcome: Outcome) => void;

  constructor(patient = false) {
    this.patient = patient;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.end = resolve;
  }

  onInformational(head: Head): void {
    this.interim.push(head.status);
  }

  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    this.status = head.status;
    return this.take(bytes, from, to, body.done);
  }

  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    return this.take(bytes, from, to, done);
  }

  onFailure(failure: ErrorCode, detail: string, fresh: boolean): void {
    this.end({ status: this.status, body: this.body, failure, detail, fresh });
  }

  onWritable(): void {
    this.writable++;
  }

  onConnected(): void {
    this.connected = true;
  }

  private take(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    this.body += bytes.toString('latin1', from, to);
    if (done) this.end({ status: this.status, body: this.body });
    return true;
  }
}

/** Records what comes out of a tunnel. */
export class Passenger implements TunnelHandler {
  text = '';
  /** Answers false to the connection: it is to wait for `resume`. */
  full = false;
  ended = false;
  failure: string | undefined;
  writable = 0;

  onBytes(bytes: Buffer, from: number, to: number): boolean {
    this.text += bytes.toString('latin1', from, to);
    return !this.full;
  }

  onEnd(): void {
    this.ended = true;
  }

  onFailure(code: ErrorCode, detail: string): void {
    this.failure = `${code}: ${detail}`;
  }

  onWritable(): void {
    this.writable++;
  }
}

/** Sends a request; its outcome follows. */
export function send(connection: UpstreamConnection, text = get(), asker = new Asker()): Asker {
  connection.begin(asker, text.startsWith('HEAD '), /^upgrade:/im.test(text));
  connection.write(text);
  connection.sent();
  return asker;
}

export const ask = (connection: UpstreamConnection, text?: string): Promise<Outcome> =>
  send(connection, text).outcome;

/** Resolves when a number has stopped to grow, as that of the bytes that come does when their sender is held back. */
export async function still(what: string, read: () => number): Promise<void> {
  let before = -1;
  let times = 0;
  await until(`${what} do not grow any more`, () => {
    times = read() === before ? times + 1 : 0;
    before = read();
    return times === 20;
  });
}

/** Resolves when the socket of a connection is closed. */
export async function gone({ socket }: UpstreamConnection): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

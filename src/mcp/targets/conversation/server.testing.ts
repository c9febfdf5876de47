/** A server over the network and the parts of a session with it, without a gateway around them. */

import type { TestContext } from 'node:test';
import type { GatewayError } from '../../../errors.ts';
import { defaults, type Limits } from '../../../model/index.ts';
import { Endpoints, type Target } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { recordingLog } from '../../harness.testing.ts';
import { RetainedMemory, RetainedMemoryPool } from '../../limits/retainedMemory.ts';
import { startRemote } from '../../remoteServer.testing.ts';
import type { StreamHost, StreamPlace } from '../http/streamHost.ts';
import type { MessageOrigin, TargetListener } from '../kind/target.ts';
import { quick } from '../../remote.testing.ts';
import type { InFlightRequest, UnheardCall } from './inFlightRequest.ts';
import { newPinnedSession, type PinnedSession } from './pinnedSession.ts';

/** The way to a target, for as long as the test runs; `connections` counts what is open to it. */
export function reachOf(t: TestContext, target: Target, more: Partial<Reach> = {}) {
  const { log, lines } = recordingLog();
  const endpoints = new Endpoints({ log });
  t.after(() => endpoints.close());
  const destination = endpoints.use(target, defaults.upstream, defaults.limits);
  const reach: Reach = { destination, path: '/mcp', headers: [], callTimeoutMs: undefined, ...more };
  return {
    reach,
    log,
    lines,
    connections: (): number => [...endpoints.all()].reduce((sum, { connections }) => sum + connections, 0),
  };
}

/** A server that ends with the test, and the way to it. */
export async function startServer(t: TestContext, more: Partial<Reach> = {}) {
  const server = await startRemote(t);
  return { server, ...reachOf(t, { host: '127.0.0.1', port: server.port }, more) };
}

/** Options of a connection that records what its session hears. */
export function recordedOptions() {
  /** The messages that the session gets from the server. */
  const heard: string[] = [];
  const origins: MessageOrigin[] = [];
  const listener: TargetListener = {
    onMessage: (_target, { method }, origin) => {
      heard.push(method);
      origins.push(origin);
    },
    canSeeResource: () => () => true,
    onDown: () => void heard.push('down'),
    onGone: () => void heard.push('gone'),
    onTaken: () => void heard.push('taken'),
  };
  const options = {
    restart: quick,
    limits: () => defaults.limits,
    listener,
    keep: new RetainedMemory(new RetainedMemoryPool(), 'holder'),
    now: Date.now,
    onRestart: () => void heard.push('again'),
    onRestartFailed: () => undefined,
    resumed: false,
    maxPending: 128,
  };
  return { heard, origins, options };
}

/** A session that a server knows. */
export const sessionOf = (id: string | undefined): PinnedSession => ({ ...newPinnedSession(), id });

/** Records what requests report, and knows which calls wait. */
export class Host implements StreamHost {
  readonly name = 'remote';
  readonly reach: Reach;
  readonly limits: Limits;
  paused = false;
  readonly waiting = new Set<number>();
  readonly limited = new Set<number>();
  readonly received: string[] = [];
  /** `id: message` of each call that will not be answered. */
  readonly failures: string[] = [];
  readonly errors: GatewayError[] = [];
  readonly losses: {
    readonly session: PinnedSession;
    readonly why: string;
    readonly wireId: number;
    readonly text?: string | undefined;
  }[] = [];
  readonly breaks: { readonly wireId: number; readonly place: StreamPlace }[] = [];
  readonly ended: InFlightRequest[] = [];

  constructor(reach: Reach, limits: Partial<Limits> = {}) {
    this.reach = reach;
    this.limits = { ...defaults.limits, ...limits };
  }

  /** Every message is received whole. */
  receiveLarge(): undefined {
    return undefined;
  }

  /** A message with a response to a call takes the call out. */
  receive(text: string): void {
    this.received.push(text);
    const { id, method } = JSON.parse(text) as { id?: number; method?: string };
    if (id !== undefined && method === undefined) this.waiting.delete(id);
  }

  waits(wireId: number): boolean {
    return this.waiting.has(wireId);
  }

  isLimited(wireId: number): boolean {
    return this.limited.has(wireId);
  }

  failed(wireId: number, error: GatewayError): void {
    this.waiting.delete(wireId);
    this.failures.push(`${wireId}: ${error.message}`);
    this.errors.push(error);
  }

  lost(session: PinnedSession, why: string, wireId: number, unheard?: UnheardCall): void {
    this.losses.push({ session, why, wireId, text: unheard?.text });
  }

  broken(_home: PinnedSession, wireId: number, { lastId, retryMs }: StreamPlace): void {
    this.breaks.push({ wireId, place: { lastId, retryMs } });
  }

  over(request: InFlightRequest): void {
    this.ended.push(request);
  }
}

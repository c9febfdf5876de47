import { GatewayError } from '../errors.ts';
import type { Logger } from '../telemetry/index.ts';
import { Call } from './call.ts';
import type { Caller } from './contract.ts';
import { ClientStreams } from './clientStreams.ts';
import { cut, memberOf, type Envelope, type RpcId } from './json/envelope.ts';
import { splice } from './json/scan.ts';
import { errorResponse } from './sendError.ts';
import { ServerRequests } from './serverRequests.ts';
import { sessionLabel } from './sessionId.ts';
import type { Outgoing } from './outgoing.ts';
import type { MessageOrigin, TargetConnection, TargetListener, TargetView } from './target.ts';

export interface SessionView {
  /** Hash of the id. */
  readonly label: string;
  readonly backend: string;
  readonly principal: string | undefined;
  readonly protocolVersion: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** True while a client reads a stream or waits for a response. */
  readonly attached: boolean;
  /** GET streams that are open. */
  readonly streams: number;
  /** Messages that wait for a stream. */
  readonly held: number;
  /** True while the client reads too slowly and the targets are held back. */
  readonly pressed: boolean;
  readonly targets: readonly TargetView[];
}

export interface SessionStart {
  readonly id: string;
  readonly backendKey: string;
  readonly principal: string | undefined;
  readonly log: Logger;
  readonly now: () => number;
  /** Runs once, when the session is over. */
  readonly onEnd: (session: Session) => void;
}

/** Progress of a task outlives the call that made it; so many tokens are remembered for it. */
const maxTaskTokens = 256;

/**
 * One client and its servers. Requests of the client go to a target under an id of the gateway's own and come back
 * under the client's; what servers say by themselves finds its way to the one stream it belongs on.
 */
export class Session implements TargetListener {
  readonly id: string;
  readonly label: string;
  readonly backendKey: string;
  readonly principal: string | undefined;
  readonly log: Logger;
  readonly targets = new Map<string, TargetConnection>();
  /** Streams to the client, and what waits for one. */
  readonly streams: ClientStreams;
  /** As the server answered initialize; undefined before. */
  protocolVersion: string | undefined;
  lastUsedAt: number;
  ended = false;
  private readonly asked = new ServerRequests();
  private readonly taskTokens = new Map<number, string>();
  private readonly createdAt: number;
  private readonly now: () => number;
  private readonly onEnd: (session: Session) => void;

  constructor(start: SessionStart) {
    this.id = start.id;
    this.label = sessionLabel(start.id);
    this.backendKey = start.backendKey;
    this.principal = start.principal;
    this.log = start.log.child({ session: this.label });
    this.now = start.now;
    this.onEnd = start.onEnd;
    this.createdAt = start.now();
    this.lastUsedAt = this.createdAt;
    this.streams = new ClientStreams(
      {
        pressed: () => this.targets.forEach((target) => target.pause()),
        eased: () => this.targets.forEach((target) => target.resume()),
      },
      (askedId) => this.refuse(askedId, 'the client has no stream open'),
      this.log,
    );
  }

  touch(): void {
    this.lastUsedAt = this.now();
  }

  /** Notes how targets are reached for the caller of the request that is being served. */
  useReach({ reach }: Caller): void {
    if (reach === undefined) return;
    for (const target of this.targets.values()) {
      const found = target.use === undefined ? undefined : reach(target.name);
      if (found !== undefined) target.use?.(found);
    }
  }

  /** A request of the client, for one target. */
  send(target: TargetConnection, out: Outgoing, call: Call): void {
    this.streams.expect(call.answer);
    const wireId = target.call(out, call);
    if (
      wireId !== 0 &&
      call.tokenText !== undefined &&
      memberOf(out.envelope.text, out.envelope.body, 'task')
    )
      this.rememberTask(wireId, call.tokenText);
  }

  /** A notification of the client, which every target may need to know but one that is about a call. */
  notify(message: Envelope): void {
    if (message.method === 'notifications/cancelled') {
      this.cancel(message);
      return;
    }
    for (const target of this.targets.values()) target.send(message.text, message.method);
  }

  /** The client's answer to a request of a server. */
  respond(message: Envelope): void {
    const asked = this.asked.take(message.id!);
    const target = asked === undefined ? undefined : this.targets.get(asked.target);
    if (asked === undefined || target === undefined || target.generation !== asked.generation) {
      this.log.debug('the client answered a request that does not wait', { id: String(message.id) });
      return;
    }
    this.streams.answered(message.id as number);
    const { text, idSpan } = message;
    target.send(text.slice(0, idSpan.start) + asked.idText + text.slice(idSpan.end));
  }

  private cancel(message: Envelope): void {
    const place = memberOf(message.text, message.body, 'requestId');
    if (place === undefined || place === 'ambiguous') return;
    const id = readId(message.text.slice(place.start, place.end));
    if (id === undefined) return;
    for (const target of this.targets.values()) {
      let found: [number, Call] | undefined;
      // The same id may be in flight twice (two POSTs): the newer one is meant.
      for (const [wireId, waiter] of target.calls())
        if (waiter instanceof Call && waiter.id === id) found = [wireId, waiter];
      if (found === undefined || found[1].method === 'initialize') continue;
      const [wireId, call] = found;
      target.send(splice(message.text, [{ ...place, replacement: String(wireId) }]));
      target.forget(wireId);
      call.cancelled(new GatewayError('mcp_cancelled'));
      return;
    }
  }

  onMessage(target: TargetConnection, message: Envelope, origin: MessageOrigin): void {
    const own = origin instanceof Call ? origin.answer : undefined;
    if (message.kind === 'request') {
      const { text, idSpan } = message;
      const askedId = this.asked.add({
        target: target.name,
        generation: target.generation,
        idText: cut(text, idSpan),
        id: message.id!,
      });
      if (askedId === undefined) {
        const error = new GatewayError('mcp_client_busy');
        target.send(errorResponse(error, text.slice(idSpan.start, idSpan.end)));
        return;
      }
      const forClient = text.slice(0, idSpan.start) + String(askedId) + text.slice(idSpan.end);
      // What a server said beside all calls is no part of one of them.
      this.streams.deliver(forClient, origin === 'aside' ? 'other' : 'request', askedId, own);
      return;
    }
    if (message.method === 'notifications/progress') this.progress(target, message);
    else if (message.method === 'notifications/cancelled') this.withdrawn(target, message);
    else {
      const log = message.method === 'notifications/message' && origin !== 'aside';
      this.streams.deliver(message.text, log ? 'log' : 'other', undefined, own);
    }
  }

  /** Progress goes on the stream of the call it is about, under the client's token. */
  private progress(target: TargetConnection, message: Envelope): void {
    const place = memberOf(message.text, message.body, 'progressToken');
    if (place === undefined || place === 'ambiguous') return;
    const token = Number(message.text.slice(place.start, place.end));
    const call = target.pending(token);
    if (call instanceof Call && call.tokenText !== undefined) {
      const text = splice(message.text, [{ ...place, replacement: call.tokenText }]);
      if (call.answer.takesProgress) call.answer.push(text);
      else this.streams.deliver(text, 'other');
      return;
    }
    const ofTask = this.taskTokens.get(token);
    if (ofTask !== undefined)
      this.streams.deliver(splice(message.text, [{ ...place, replacement: ofTask }]), 'other');
  }

  /** A server takes a request of its own back. */
  private withdrawn(target: TargetConnection, message: Envelope): void {
    const place = memberOf(message.text, message.body, 'requestId');
    if (place === undefined || place === 'ambiguous') return;
    const id = readId(message.text.slice(place.start, place.end));
    const askedId = id === undefined ? undefined : this.asked.withdraw(target.name, id);
    if (askedId === undefined) return;
    this.streams.withdraw(askedId, splice(message.text, [{ ...place, replacement: String(askedId) }]));
  }

  onDown(target: TargetConnection): void {
    for (const askedId of this.asked.withdrawAll(target.name))
      this.streams.withdraw(
        askedId,
        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${askedId},"reason":"the server ended"}}`,
      );
  }

  /** Answers a server in the place of a client that cannot be reached. */
  private refuse(askedId: number, why: string): void {
    const asked = this.asked.take(askedId);
    if (asked === undefined) return;
    const error = new GatewayError('mcp_client_busy', { message: why });
    this.targets.get(asked.target)?.send(errorResponse(error, asked.idText));
  }

  private rememberTask(wireId: number, tokenText: string): void {
    this.taskTokens.set(wireId, tokenText);
    if (this.taskTokens.size > maxTaskTokens) {
      const [oldest] = this.taskTokens.keys();
      this.taskTokens.delete(oldest!);
    }
  }

  /** Does a client wait for something right now? */
  get attached(): boolean {
    return this.streams.attached;
  }

  /** Every few seconds. */
  tick(now: number): void {
    for (const target of this.targets.values()) target.tick?.(now);
    this.streams.tick(now);
  }

  /** Ends the session and everything it holds; resolves (never rejects) when its targets are gone. */
  async end(graceMs: number): Promise<void> {
    if (!this.ended) {
      this.ended = true;
      this.onEnd(this);
    }
    const closing = [...this.targets.values()].map((target) => target.close(graceMs));
    this.streams.close();
    await Promise.all(closing);
  }

  view(): SessionView {
    return {
      label: this.label,
      backend: this.backendKey,
      principal: this.principal,
      protocolVersion: this.protocolVersion,
      createdAt: this.createdAt,
      lastUsedAt: this.lastUsedAt,
      attached: this.attached,
      streams: this.streams.open,
      held: this.streams.held,
      pressed: this.streams.pressedNow,
      targets: [...this.targets.values()].map((target) => target.view()),
    };
  }
}

function readId(text: string): RpcId | undefined {
  try {
    const id: unknown = JSON.parse(text);
    return typeof id === 'string' || typeof id === 'number' ? id : undefined;
  } catch {
    return undefined;
  }
}

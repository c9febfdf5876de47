import { GatewayError } from '../../../errors.ts';
import { cut, memberOf, type Envelope } from '../../json/envelope.ts';
import { ownMessage } from '../../json/ownMessage.ts';
import { gatewayAsClient } from '../../messages/gatewayAsClient.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { errorResponse } from '../../messages/rpcError.ts';
import { subscriptionOf } from '../../messages/subscriptionId.ts';
import { supportedVersions } from '../../messages/versions.ts';
import { TransientMap } from '../../limits/transientMap.ts';
import type { Opening, TargetConnection, TargetListener, Waiter } from '../kind/target.ts';
import type { Tenant } from '../kind/targetRuntime.ts';

/** The use of the child by a request. */
export interface ChildUser {
  /** Its call with this id on the wire; undefined for calls of others. */
  pending(wireId: number): Waiter | undefined;
  /** The server sends a message about the progress of its call with this id on the wire. */
  heard(message: Envelope, wireId: number): void;
  /** The server sends news: of its lists, or on a stream of this user. @param kind newer news of it counts for more */
  heardAside(message: Envelope, kind: string): void;
  /** The child ended. */
  down(): void;
  /** The child has begun again. */
  up(): void;
  /** The child does not take the first request again. */
  refused(opening: Opening): void;
  /** Another child takes the place of this one. */
  replaced(): void;
  /** Its session has had neither stream nor call for the grace. */
  readonly idle: boolean;
}

export interface SharedChildStart {
  readonly name: string;
  /** The holder whose budget of children it uses. */
  readonly holder: string;
  /** Its users are sessions of one principal. */
  readonly ofOnePrincipal: boolean;
  /** The end of a value in its environment, in milliseconds since the epoch; absent: none ends. */
  readonly expiresAt?: number | undefined;
  /** The version of this program, for servers. */
  readonly version: string;
  /** The time that the child may be without a user, in milliseconds. */
  readonly idleMs: number;
  readonly now: () => number;
  readonly connect: (child: SharedChild) => TargetConnection;
  /** Runs once, when the child cannot be used any more. */
  readonly onEnd: (child: SharedChild) => void;
}

/** The time for the child to leave, in milliseconds. */
const stopGraceMs = 3_000;
/** A child ends so long before a value in its environment, in milliseconds, so that no call begins with the value. */
const leadMs = 5_000;
/** A value in the environment has ended, and calls are in progress: the next look at them, in milliseconds. */
const expiryPollMs = 1_000;
/** The longest time that a timer takes. */
const longestTimerMs = 2_147_483_647;

/** News of lists is for every session of the principal. */
const listNews = /^notifications\/(?:tools|prompts|resources)\/list_changed$/;

/**
 * A child process that several sessions use, one after the other and at the same time: those of all callers of a backend,
 * or those of one principal. The gateway is its client, without capabilities. Of messages that are about no call, only
 * news of lists reach the sessions of one principal, and none those of several.
 */
export class SharedChild implements TargetListener, Tenant {
  readonly name: string;
  /** Its place counts for none of its users. */
  readonly holder: string;
  readonly unused = false;
  lastUsedAt: number;
  readonly connection: TargetConnection;
  private readonly start: SharedChildStart;
  private readonly users = new TransientMap<ChildUser, true>();
  /** The answer to the first request. */
  private answer: Envelope | undefined;
  /** The waiters for that answer. */
  private waiting: Waiter[] = [];
  private timer: NodeJS.Timeout | undefined;
  private expiry: NodeJS.Timeout | undefined;
  /** The time to end because of a value. */
  private readonly endsAt: number;
  private isRetired = false;
  private isOver = false;
  private ended: Promise<void> | undefined;

  constructor(start: SharedChildStart) {
    this.name = start.name;
    this.holder = start.holder;
    this.lastUsedAt = start.now();
    this.start = start;
    this.connection = start.connect(this);
    const left = (start.expiresAt ?? 0) - start.now();
    // Nothing better can be had for a value that has ended already, or is about to.
    this.endsAt = (start.expiresAt ?? 0) - (left > leadMs ? leadMs : 0);
    if (left > 0) this.armExpiry(this.endsAt - start.now());
  }

  get isOnePrincipals(): boolean {
    return this.start.ofOnePrincipal;
  }

  /** No session can begin to use it. */
  get isEnding(): boolean {
    return this.isOver || this.isRetired;
  }

  get idle(): boolean {
    for (const { idle } of this.users.keys()) if (!idle) return false;
    return true;
  }

  private armExpiry(ms: number): void {
    this.expiry = setTimeout(() => this.expire(), Math.min(ms, longestTimerMs)).unref();
  }

  /** A value has ended: the next call gets another child, and calls in progress end with this one. */
  private expire(): void {
    const left = this.endsAt - this.start.now();
    if (left > 0) {
      this.armExpiry(left);
      return;
    }
    this.isRetired = true;
    this.start.onEnd(this);
    for (const [, { standing }] of this.connection.calls())
      if (standing !== true) {
        this.armExpiry(expiryPollMs);
        return;
      }
    this.end();
  }

  enter(user: ChildUser): void {
    this.users.set(user, true);
    clearTimeout(this.timer);
  }

  exit(user: ChildUser): void {
    this.users.delete(user);
    this.lastUsedAt = this.start.now();
    if (this.users.size > 0) return;
    clearTimeout(this.timer);
    if (this.isRetired) this.end();
    else this.timer = setTimeout(() => this.end(), this.start.idleMs).unref();
  }

  /** The child is not the one of the configuration any more: it ends with its last user. */
  retire(): void {
    this.isRetired = true;
    if (this.users.size === 0) this.end();
  }

  /** Another child takes its place: it ends with the calls in progress. */
  replace(): void {
    this.isRetired = true;
    for (const user of [...this.users.keys()]) user.replaced();
    if (this.users.size === 0) this.end();
  }

  /** Begins the conversation, unless another request has begun it. */
  open({ envelope }: Outgoing, waiter: Waiter): void {
    if (this.answer !== undefined) {
      waiter.answered(this.answer);
      return;
    }
    this.waiting.push(waiter);
    if (this.waiting.length > 1) return;
    const opening =
      envelope.method === 'initialize'
        ? ownMessage('initialize', gatewayAsClient(supportedVersions[0]!, this.start.version))
        : envelope;
    this.connection.open(
      { envelope: opening, token: undefined, edits: [] },
      {
        answered: (response) => {
          if (response.isError) this.end();
          else {
            this.answer = response;
            const method = 'notifications/initialized';
            if (opening.method === 'initialize')
              this.connection.send(`{"jsonrpc":"2.0","method":"${method}"}`, method);
          }
          for (const one of this.taken()) one.answered(response);
        },
        failed: (error) => {
          this.end();
          for (const one of this.taken()) one.failed(error);
        },
      },
    );
  }

  private taken(): readonly Waiter[] {
    const { waiting } = this;
    this.waiting = [];
    return waiting;
  }

  // TargetListener

  onMessage(_connection: TargetConnection, message: Envelope): void {
    if (message.kind === 'request') this.refuse(message);
    else if (message.method === 'notifications/progress') this.progress(message);
    else if (!this.toStream(message) && this.start.ofOnePrincipal && listNews.test(message.method))
      for (const user of this.users.keys()) user.heardAside(message, message.method);
  }

  /** Each user has streams of its own (2026-07-28, Subscriptions). @returns whether the message is one of a stream */
  private toStream(message: Envelope): boolean {
    const wireId = subscriptionOf(message);
    if (wireId === undefined) return false;
    for (const user of this.users.keys())
      if (user.pending(wireId) !== undefined) {
        user.heardAside(message, message.text);
        break;
      }
    return true;
  }

  /** Progress is for the user whose call it is about. */
  private progress(message: Envelope): void {
    const { text, body } = message;
    const place = memberOf(text, body, 'progressToken');
    if (typeof place !== 'object') return;
    const wireId = Number(text.slice(place.start, place.end));
    for (const user of this.users.keys()) {
      if (user.pending(wireId) === undefined) continue;
      user.heard(message, wireId);
      return;
    }
  }

  private refuse({ text, idSpan, method }: Envelope): void {
    const idText = cut(text, idSpan);
    const error = new GatewayError('mcp_client_busy', { message: 'the program is shared and has no client' });
    this.connection.send(
      method === 'ping' ? `{"jsonrpc":"2.0","id":${idText},"result":{}}` : errorResponse(error, idText),
    );
  }

  canSeeResource(): undefined {
    return undefined;
  }

  onDown(): void {
    for (const user of this.users.keys()) user.down();
  }

  onUp(): void {
    for (const user of this.users.keys()) user.up();
  }

  onRefused(_connection: TargetConnection, opening: Opening): void {
    for (const user of [...this.users.keys()]) user.refused(opening);
    // The users have left a program of another era.
    if (this.users.size === 0) this.end();
  }

  onGone(): void {
    this.end();
  }

  onTaken(): void {
    this.end();
  }

  /** Ends it now, also while it has users. */
  end(graceMs = stopGraceMs): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    clearTimeout(this.expiry);
    this.start.onEnd(this);
    this.ended = this.connection.close(graceMs);
  }

  /** Resolves when nothing is left of a child that ends; at once where it goes on. Never rejects. */
  get whenEnded(): Promise<void> {
    return this.ended ?? Promise.resolve();
  }
}

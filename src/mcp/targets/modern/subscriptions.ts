/** The notifications that a server of the modern era sends by itself (2026-07-28, Subscriptions). */

import { ThrottledLog, type Logger } from '../../../telemetry/index.ts';
import { memberOf, type Envelope } from '../../json/envelope.ts';
import { ownError, ownNotification, ownResult } from '../../json/ownMessage.ts';
import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import { subscriptionOf } from '../../messages/subscriptionId.ts';
import type { CanSeeResource, MessageOrigin, Waiter } from '../kind/target.ts';
import { Backoff, streamRestart } from '../conversation/backoff.ts';
import { listFilters, type Discovery } from './discovery.ts';
import { ListenStream, type ListenOwner } from './listenStream.ts';
import { withoutSubscription } from './streamMessages.ts';
import { SubscribedUris } from './subscribedUris.ts';
import { WatchedTasks } from './watchedTasks.ts';

/** The functions of its connection that it needs. */
export interface SubscriptionsHost {
  readonly log: Logger;
  readonly keep: RetainedMemory;
  readonly now: () => number;
  /** Sends `subscriptions/listen`. @param filter JSON text of an object @returns the id on the wire */
  listen(filter: string, stream: ListenStream): number;
  /** Cancels a stream. */
  leave(stream: ListenStream): void;
  /** The server works: a request would start nothing. */
  isReady(): boolean;
  /** A notification for the session. */
  tell(notification: Envelope): void;
  canSeeResource(): CanSeeResource | undefined;
}

/** A stream that lived so long was a good one, in milliseconds. */
const goodMs = 5_000;
const usualRetryMs = 1_000;
/** JSON-RPC 2.0 §5.1: the server has no subscriptions, whatever it declared. */
const methodNotFound = -32601;

/** A request of the client that waits until a stream with its URI is acknowledged. */
interface Waiting {
  readonly uri: string;
  readonly waiter: Waiter;
}

/**
 * The stream of a session for all that its client wants to hear: changes of lists, and resources. A changed wish
 * opens another stream; the former stream ends when the server has acknowledged the new one.
 */
export class Subscriptions implements ListenOwner {
  private readonly host: SubscriptionsHost;
  private readonly backoff: Backoff;
  private readonly trouble: ThrottledLog;
  private server: Pick<Discovery, 'hasSubscriptions' | 'listChanges'> | undefined;
  private wantsLists = false;
  private readonly uris: SubscribedUris;
  private readonly tasks = new WatchedTasks();
  private waiting: Waiting[] = [];
  /** The stream that counts. */
  private current: ListenStream | undefined;
  /** The next one, until it is acknowledged. */
  private opening: ListenStream | undefined;
  /** The client has wished something while a stream was opened. */
  private isChanged = false;
  /** The client may have missed notifications. */
  private missed = false;
  private givenUp = false;
  private closed = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(host: SubscriptionsHost) {
    this.host = host;
    this.uris = new SubscribedUris(host.keep);
    this.backoff = new Backoff(streamRestart, host.now);
    this.trouble = new ThrottledLog(host.log, 'Notifications of the target cannot be heard for now');
  }

  /** The requests that wait for the server without end. */
  get streams(): number {
    return Number(this.opening !== undefined) + Number(this.current !== undefined);
  }

  /** Resolves when the stream that is being opened is acknowledged or over; undefined where none is. */
  get opened(): Promise<void> | undefined {
    return this.opening?.settled;
  }

  /** The server has told what it offers. */
  begin(server: Pick<Discovery, 'hasSubscriptions' | 'listChanges'>): void {
    this.server = server;
  }

  /** Does anyone want to hear of changed lists? */
  listenForLists(wanted: boolean): void {
    if (wanted === this.wantsLists) return;
    this.wantsLists = wanted;
    this.refresh();
  }

  subscribe(uri: string, waiter: Waiter): void {
    if (this.server?.hasSubscriptions !== true) {
      waiter.answered(ownError(-32601, 'the server has no subscriptions to resources'));
      return;
    }
    if (this.current?.watched.has(uri) === true && this.uris.has(uri)) {
      waiter.answered(ownResult('{}'));
      return;
    }
    if (!this.uris.add(uri)) {
      waiter.answered(ownError(-32603, 'too many subscriptions'));
      return;
    }
    this.waiting.push({ uri, waiter });
    this.refresh(true);
  }

  unsubscribe(uri: string): void {
    this.uris.delete(uri);
    const { waiting } = this;
    this.waiting = waiting.filter((one) => one.uri !== uri);
    // The next stream does not ask for it, so no server answers.
    for (const one of waiting) if (one.uri === uri) one.waiter.answered(ownResult('{}'));
    this.refresh();
  }

  /** @returns whether the server tells of the task */
  async watchTask(id: string): Promise<boolean> {
    if (this.closed || this.server === undefined || !this.tasks.add(id)) return false;
    if (this.current?.watchedTasks.has(id) === true) return true;
    const settled = this.tasks.settled(id);
    this.refresh(true);
    return settled;
  }

  unwatchTask(id: string): void {
    this.tasks.delete(id);
    this.refresh();
  }

  /** Activity in the session: a stream that was given up may work again. */
  wake(): void {
    if (!this.givenUp || !this.backoff.mayTry) return;
    this.givenUp = false;
    this.refresh();
  }

  get awaitsCaller(): boolean {
    return this.uris.unjudged;
  }

  /** A caller is there for whom subscriptions can be judged. */
  attended(canSeeResource: CanSeeResource): void {
    this.uris.judge(canSeeResource);
    this.refresh();
  }

  /** The server is gone, and with it the streams. */
  down(): void {
    clearTimeout(this.timer);
    const { current, opening } = this;
    this.current = undefined;
    this.opening = undefined;
    for (const stream of [current, opening]) if (stream !== undefined) this.leave(stream);
  }

  /** The server starts again: it has to be told again. */
  again(): void {
    this.givenUp = false;
    if (this.opening !== undefined) return;
    this.uris.judge(this.host.canSeeResource());
    this.refresh(true);
  }

  close(): void {
    this.closed = true;
    this.tasks.close();
    this.down();
    for (const { uri, waiter } of this.waiting.splice(0)) this.refuse(uri, waiter, 'the session has ended');
  }

  /** @returns whether the message belongs to a stream, and not to the session */
  heard(message: Envelope, origin: MessageOrigin): boolean {
    const { method } = message;
    const id = subscriptionOf(message);
    const stream =
      origin instanceof ListenStream
        ? origin
        : [this.current, this.opening].find((one) => one !== undefined && one.wireId === id);
    if (method === 'notifications/cancelled') this.cancelled(message);
    else if (method === 'notifications/subscriptions/acknowledged') {
      if (stream !== undefined && stream === this.opening) this.acknowledged(stream, message);
    } else if (stream === undefined && id === undefined) return false;
    else if (stream !== undefined && stream === this.current) this.host.tell(withoutSubscription(message));
    return true;
  }

  /** 2026-07-28, Cancellation: a server cancels nothing but a stream, over stdio. */
  private cancelled({ text, body }: Envelope): void {
    const place = memberOf(text, body, 'requestId');
    const id = typeof place === 'object' ? Number(text.slice(place.start, place.end)) : undefined;
    for (const stream of [this.current, this.opening])
      if (stream !== undefined && stream.wireId === id) {
        this.host.leave(stream);
        this.over(stream, 'ended the stream', undefined);
      }
  }

  private acknowledged(stream: ListenStream, message: Envelope): void {
    const { current, waiting } = this;
    stream.acknowledge(message);
    this.opening = undefined;
    this.current = stream;
    if (current !== undefined) this.leave(current);
    this.tasks.settle(stream);
    this.waiting = waiting.filter(({ uri }) => !stream.uris.has(uri));
    for (const { uri, waiter } of waiting)
      if (stream.watched.has(uri)) waiter.answered(ownResult('{}'));
      else if (stream.uris.has(uri)) this.refuse(uri, waiter, 'the server does not watch the resource');
    if (this.missed) this.tellMissed();
    this.missed = false;
    if (this.isChanged) this.refresh();
  }

  // ListenOwner

  unacknowledged(stream: ListenStream): void {
    this.leave(stream);
    this.over(stream, 'did not acknowledge the stream', undefined);
  }

  over(stream: ListenStream, why: string, code: number | undefined): void {
    if (stream === this.opening) {
      this.opening = undefined;
      this.tasks.settle({ tasks: stream.tasks, watchedTasks: new Set() });
      const { waiting } = this;
      this.waiting = waiting.filter(({ uri }) => !stream.uris.has(uri));
      for (const { uri, waiter } of waiting)
        if (stream.uris.has(uri)) this.refuse(uri, waiter, `the server ${why}`);
    } else if (stream === this.current) {
      // A server that offers nothing of the wish ends the stream: asking again would change nothing.
      if (!stream.isOfUse) return;
      this.current = undefined;
      this.missed = true;
    } else return;
    if (code === methodNotFound) {
      this.server = { hasSubscriptions: false, listChanges: [] };
      this.trouble.warn({ reason: why });
    }
    if (this.closed || this.wish === '') return;
    const delay = this.delay(stream);
    if (delay === undefined) {
      this.givenUp = true;
      this.trouble.warn({ reason: why });
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.retry(), delay).unref();
  }

  private delay(stream: ListenStream): number | undefined {
    const isGood = stream.acknowledged && performance.now() - stream.openedAt >= goodMs;
    return isGood ? usualRetryMs : this.backoff.failure();
  }

  private retry(): void {
    if (!this.host.isReady()) return;
    this.uris.judge(this.host.canSeeResource());
    this.refresh();
  }

  /** Brings the stream in line with the wish. @param starts even where that starts the server */
  private refresh(starts = false): void {
    if (this.closed || this.server === undefined) return;
    if (this.opening !== undefined) {
      this.isChanged = true;
      return;
    }
    this.isChanged = false;
    const { wish } = this;
    if (wish === (this.current?.filter ?? '')) return;
    if (wish === '') {
      this.leave(this.current!);
      this.current = undefined;
      return;
    }
    if (!starts && !this.host.isReady()) return;
    clearTimeout(this.timer);
    const stream = new ListenStream(wish, this.uris.told, this.tasks.ids, this);
    this.opening = stream;
    stream.wireId = this.host.listen(wish, stream);
  }

  /** The filter for everything that the client wants, as JSON text; empty where it wants nothing. */
  private get wish(): string {
    const lists = this.wantsLists ? (this.server?.listChanges ?? []) : [];
    const uris = this.uris.told;
    const tasks = this.tasks.ids;
    if (lists.length + uris.length + tasks.length === 0) return '';
    return JSON.stringify({
      ...Object.fromEntries(lists.map((name) => [name, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
      ...(tasks.length > 0 && { taskIds: tasks }),
    });
  }

  /** Without a stream for a while: everything may have changed. */
  private tellMissed(): void {
    if (this.wantsLists)
      for (const [name, filter] of Object.entries(listFilters))
        if (this.server?.listChanges.includes(filter) === true)
          this.host.tell(ownNotification(`notifications/${name}/list_changed`));
    for (const uri of this.current?.watched ?? [])
      this.host.tell(ownNotification('notifications/resources/updated', JSON.stringify({ uri })));
  }

  private refuse(uri: string, waiter: Waiter, why: string): void {
    this.uris.delete(uri);
    waiter.answered(ownError(-32603, `cannot subscribe: ${why}`));
  }

  private leave(stream: ListenStream): void {
    stream.stop();
    this.host.leave(stream);
  }
}

import type { GatewayError } from '../../../errors.ts';
import { memberOf, type Envelope } from '../../json/envelope.ts';
import { errorCodeOf, errorTextOf } from '../../json/errorMember.ts';
import { isRecord, parsed } from '../../json/parsed.ts';
import type { Waiter } from '../kind/target.ts';

/** The owner of a stream. */
export interface ListenOwner {
  /** The server has not acknowledged it in time. */
  unacknowledged(stream: ListenStream): void;
  /** It has ended. @param code of the error with which the server ended it */
  over(stream: ListenStream, why: string, code: number | undefined): void;
}

/** The time for a server to acknowledge a stream, in milliseconds. */
const acknowledgeMs = 15_000;

/** A `subscriptions/listen` request, and the stream of notifications that answers it. */
export class ListenStream implements Waiter {
  readonly standing = true;
  /** The filter that was asked for, as JSON text. */
  readonly filter: string;
  /** The URIs in it. */
  readonly uris: ReadonlySet<string>;
  /** The tasks in it. */
  readonly tasks: ReadonlySet<string>;
  /** The id on the wire: the server puts it into each notification. */
  wireId = 0;
  readonly openedAt = performance.now();
  /** The server has acknowledged it. */
  acknowledged = false;
  /** The server sends something of what was asked for. */
  isOfUse = false;
  /** The URIs that the server watches. */
  watched: ReadonlySet<string> = new Set();
  /** The tasks that the server tells of. */
  watchedTasks: ReadonlySet<string> = new Set();
  private readonly settling = Promise.withResolvers<void>();
  private readonly owner: ListenOwner;
  private readonly timer: NodeJS.Timeout;

  constructor(filter: string, uris: Iterable<string>, tasks: Iterable<string>, owner: ListenOwner) {
    this.filter = filter;
    this.uris = new Set(uris);
    this.tasks = new Set(tasks);
    this.owner = owner;
    this.timer = setTimeout(() => owner.unacknowledged(this), acknowledgeMs).unref();
  }

  /** Resolves when the server has acknowledged the stream, or the stream is over. */
  get settled(): Promise<void> {
    return this.settling.promise;
  }

  /** The server says which part of the filter it honours. */
  acknowledge({ text, body }: Envelope): void {
    this.stop();
    this.acknowledged = true;
    const place = memberOf(text, body, 'notifications');
    const honoured = typeof place === 'object' ? parsed(text.slice(place.start, place.end)) : undefined;
    if (!isRecord(honoured)) return;
    this.watched = textsOf(honoured['resourceSubscriptions']);
    this.watchedTasks = textsOf(honoured['taskIds']);
    this.isOfUse = this.watched.size + this.watchedTasks.size > 0 || Object.values(honoured).includes(true);
  }

  /** Its acknowledgement comes too late. */
  stop(): void {
    clearTimeout(this.timer);
    this.settling.resolve();
  }

  // Waiter

  answered(response: Envelope): void {
    this.stop();
    this.owner.over(
      this,
      response.isError ? errorTextOf(response) : 'ended the stream',
      errorCodeOf(response),
    );
  }

  failed({ message }: GatewayError): void {
    this.stop();
    this.owner.over(this, message, undefined);
  }
}

const textsOf = (list: unknown): ReadonlySet<string> =>
  new Set(Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []);

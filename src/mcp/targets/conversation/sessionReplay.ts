import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import { cut, edited, memberOf, stringValue, type Envelope } from '../../json/envelope.ts';
import type { Edit } from '../../json/scan.ts';
import { renderOutgoing } from '../../messages/outgoing.ts';
import type { CanSeeResource } from '../kind/target.ts';

/**
 * Characters of the initialize of a client, and of what it says besides: they are kept as long as the session lives, and
 * there may be very many sessions.
 */
export const maxKept = 65_536;
const bareInitialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const maxLevel = 64;
const maxSubscriptions = 1_024;
/** Characters of all of them together. */
const maxLength = 1_048_576;

/** The messages of the client that a replacement server must get again. */
export class SessionReplay {
  /** The client's initialize, with the place of its id. */
  private initialize: Envelope | undefined;
  private confirmed: string | undefined;
  private level: string | undefined;
  private readonly subscriptions = new Set<string>();
  /** Subscriptions that the server was not told again, because nobody was there for whom they could be judged. */
  private readonly waiting = new Set<string>();
  private length = 0;
  private readonly memory: RetainedMemory;

  constructor(room: RetainedMemory) {
    this.memory = room;
  }

  begin(initialize: Envelope): void {
    this.initialize = initialize;
    this.memory.add(initialize.text.length);
  }

  /** The client's notifications/initialized, once it came. */
  get initialized(): string | undefined {
    return this.confirmed;
  }

  confirm(text: string): void {
    // It may be a slice of a large batch.
    this.confirmed = text.length <= maxKept ? cut(text, { start: 0, end: text.length }) : bareInitialized;
  }

  /** The method of the first request. */
  get method(): string {
    return this.initialize?.method ?? 'initialize';
  }

  /** The first request of the client again, under another id. */
  beginning(wireId: number): string {
    if (this.initialize === undefined) throw new Error('the first message to a server must be initialize');
    return renderOutgoing({ envelope: this.initialize, token: undefined, edits: [] }, wireId);
  }

  /**
   * Notes a request that the server accepted; `undefined` where there is nothing to note.
   * @param edits change it for the server
   */
  note(request: Envelope, edits: readonly Edit[] = []): (() => void) | undefined {
    if (request.method === 'logging/setLevel') {
      const level = parameter(request, 'level');
      return level === undefined || level.length > maxLevel ? undefined : () => void (this.level = level);
    }
    // A federation changes the URIs of clients into those of the server.
    if (request.method === 'resources/subscribe') {
      const uri = parameter(edited(request, edits), 'uri');
      return uri === undefined ? undefined : () => this.subscribed(uri);
    }
    if (request.method === 'resources/unsubscribe') {
      const uri = parameter(edited(request, edits), 'uri');
      return uri === undefined ? undefined : () => this.unsubscribed(uri);
    }
    return undefined;
  }

  private subscribed(uri: string): void {
    this.unsubscribed(uri);
    if (this.subscriptions.size >= maxSubscriptions || this.length + uri.length > maxLength) return;
    this.memory.add(uri.length);
    if (this.memory.isOverLimit) {
      this.memory.remove(uri.length);
      return;
    }
    this.subscriptions.add(uri);
    this.length += uri.length;
  }

  private unsubscribed(uri: string): void {
    this.waiting.delete(uri);
    if (!this.subscriptions.delete(uri)) return;
    this.length -= uri.length;
    this.memory.remove(uri.length);
  }

  /**
   * The requests to say again once the server is initialized: as they go over the wire, with their ids. The rules may
   * hide by now what the client subscribed to.
   * @param canSeeResource undefined where nobody is there to be judged: subscriptions wait for `requestsThatWaited`
   */
  *requests(nextId: () => number, canSeeResource: CanSeeResource | undefined): Iterable<WireRequest> {
    if (this.level !== undefined)
      yield wireRequest(nextId(), 'logging/setLevel', JSON.stringify({ level: this.level }));
    for (const uri of this.subscriptions) this.waiting.add(uri);
    if (canSeeResource !== undefined) yield* this.requestsThatWaited(nextId, canSeeResource);
  }

  /** The subscriptions that the server has not been told again. */
  *requestsThatWaited(nextId: () => number, canSeeResource: CanSeeResource): Iterable<WireRequest> {
    for (const uri of [...this.waiting]) {
      this.waiting.delete(uri);
      if (canSeeResource(uri)) yield wireRequest(nextId(), 'resources/subscribe', JSON.stringify({ uri }));
      else this.unsubscribed(uri);
    }
  }

  /** Does a subscription wait to be said again? */
  get waits(): boolean {
    return this.waiting.size > 0;
  }
}

/** A request as it goes over the wire, and its id there. */
export type WireRequest = readonly [wireId: number, text: string];

const wireRequest = (wireId: number, method: string, params: string): WireRequest => [
  wireId,
  `{"jsonrpc":"2.0","id":${wireId},"method":"${method}","params":${params}}`,
];

function parameter(request: Envelope, name: string): string | undefined {
  const place = memberOf(request.text, request.body, name);
  const value = place === 'ambiguous' ? undefined : stringValue(request.text, place);
  // It is kept: a mere slice would keep the whole message alive.
  return value === undefined ? undefined : cut(value, { start: 0, end: value.length });
}

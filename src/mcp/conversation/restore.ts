import { cut, type Envelope } from '../json/envelope.ts';
import { renderOutgoing } from '../outgoing.ts';

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

/** What the client told a server that another one in its place has to be told again. */
export class Restore {
  /** The client's initialize, with the place of its id. */
  private initialize: Envelope | undefined;
  private confirmed: string | undefined;
  private level: string | undefined;
  private readonly subscriptions = new Set<string>();
  private length = 0;

  begin(initialize: Envelope): void {
    this.initialize = initialize;
  }

  /** The client's notifications/initialized, once it came. */
  get initialized(): string | undefined {
    return this.confirmed;
  }

  confirm(text: string): void {
    // It may be a slice of a large batch.
    this.confirmed = text.length <= maxKept ? cut(text, { start: 0, end: text.length }) : bareInitialized;
  }

  /** The first request of the client again, under another id. */
  beginning(wireId: number): string {
    if (this.initialize === undefined) throw new Error('a server begins with initialize');
    return renderOutgoing({ envelope: this.initialize, token: undefined, edits: [] }, wireId);
  }

  /** Notes a request that the server accepted; `undefined` where there is nothing to note. */
  note(request: Envelope): (() => void) | undefined {
    if (request.method === 'logging/setLevel') {
      const level = parameter(request, 'level');
      return level === undefined || level.length > maxLevel ? undefined : () => void (this.level = level);
    }
    if (request.method === 'resources/subscribe') {
      const uri = parameter(request, 'uri');
      return uri === undefined ? undefined : () => this.subscribed(uri);
    }
    if (request.method === 'resources/unsubscribe') {
      const uri = parameter(request, 'uri');
      return uri === undefined ? undefined : () => this.unsubscribed(uri);
    }
    return undefined;
  }

  private subscribed(uri: string): void {
    this.unsubscribed(uri);
    if (this.subscriptions.size >= maxSubscriptions || this.length + uri.length > maxLength) return;
    this.subscriptions.add(uri);
    this.length += uri.length;
  }

  private unsubscribed(uri: string): void {
    if (this.subscriptions.delete(uri)) this.length -= uri.length;
  }

  /** The requests to say again once the server is initialized: as they go over the wire, with their ids. */
  *requests(nextId: () => number): Iterable<readonly [wireId: number, text: string]> {
    for (const [method, params] of this.wanted()) {
      const wireId = nextId();
      yield [wireId, `{"jsonrpc":"2.0","id":${wireId},"method":"${method}","params":${params}}`];
    }
  }

  private *wanted(): Iterable<readonly [method: string, params: string]> {
    if (this.level !== undefined) yield ['logging/setLevel', JSON.stringify({ level: this.level })];
    for (const uri of this.subscriptions) yield ['resources/subscribe', JSON.stringify({ uri })];
  }
}

function parameter(request: Envelope, name: string): string | undefined {
  if (request.body === undefined) return undefined;
  const params = JSON.parse(request.text.slice(request.body.start, request.body.end)) as Record<
    string,
    unknown
  >;
  const value = params[name];
  return typeof value === 'string' ? value : undefined;
}

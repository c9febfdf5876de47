import type { Envelope } from '../json/envelope.ts';

const maxSubscriptions = 1_024;
/** Characters of all of them together. */
const maxLength = 1_048_576;

/** What a client asked a server to remember, so that a restarted one can be told again. */
export class Restore {
  private level: string | undefined;
  private readonly subscriptions = new Set<string>();
  private length = 0;

  /** Notes a request that the server accepted; `undefined` where there is nothing to note. */
  note(request: Envelope): (() => void) | undefined {
    if (request.method === 'logging/setLevel') {
      const level = parameter(request, 'level');
      return level === undefined ? undefined : () => void (this.level = level);
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

  /** The requests to say again: method and `params` as JSON. */
  *requests(): Iterable<readonly [method: string, params: string]> {
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

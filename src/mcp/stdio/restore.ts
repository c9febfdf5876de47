import type { Envelope } from '../json/envelope.ts';

const maxSubscriptions = 1_024;

/** What a client asked a server to remember, so that a restarted one can be told again. */
export class Restore {
  private level: string | undefined;
  private readonly subscriptions = new Set<string>();

  /** Notes a request that the server accepted; `undefined` where there is nothing to note. */
  note(request: Envelope): (() => void) | undefined {
    if (request.method === 'logging/setLevel') {
      const level = parameter(request, 'level');
      return level === undefined ? undefined : () => void (this.level = level);
    }
    if (request.method === 'resources/subscribe') {
      const uri = parameter(request, 'uri');
      return uri === undefined
        ? undefined
        : () => void (this.subscriptions.size < maxSubscriptions && this.subscriptions.add(uri));
    }
    if (request.method === 'resources/unsubscribe') {
      const uri = parameter(request, 'uri');
      return uri === undefined ? undefined : () => void this.subscriptions.delete(uri);
    }
    return undefined;
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

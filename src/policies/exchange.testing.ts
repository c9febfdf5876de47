import { HeaderEdits, type HeaderLine, type HttpRequest } from '../http/index.ts';
import type { Exchange, Identity } from './policy.ts';

export interface FakeRequest {
  readonly method?: string;
  readonly target?: string;
  readonly host?: string;
  readonly scheme?: 'http' | 'https';
  readonly remoteAddress?: string;
  readonly headers?: readonly HeaderLine[];
  readonly identity?: Identity;
}

/** A request without a socket, and what the policies did to it. */
export class FakeExchange implements Exchange {
  readonly request: HttpRequest;
  identity: Identity | undefined;
  readonly requestHeaders = new HeaderEdits();
  readonly responseHeaders = new HeaderEdits();
  readonly annotations: Record<string, string | number> = {};
  requestLimit: number | undefined;
  backendLimit: number | undefined;

  constructor(fake: FakeRequest = {}) {
    this.identity = fake.identity;
    const { method = 'GET', target = '/', host = 'gateway.test', scheme = 'http' } = fake;
    const lines = (fake.headers ?? []).map(([name, value]): HeaderLine => [name.toLowerCase(), value]);
    const mark = target.indexOf('?');
    this.request = {
      method,
      target,
      path: mark < 0 ? target : target.slice(0, mark),
      query: mark < 0 ? '' : target.slice(mark + 1),
      host: host.replace(/:\d+$/, ''),
      authority: host,
      scheme,
      version: 'HTTP/1.1',
      remoteAddress: fake.remoteAddress ?? '192.0.2.7',
      remotePort: 40_000,
      localAddress: '192.0.2.1',
      localPort: 3000,
      id: 'request-1',
      startedAt: Date.UTC(2026, 10, 1),
      header(name) {
        const found = lines.filter(([known]) => known === name.toLowerCase());
        return found.length === 0 ? undefined : found.map(([, value]) => value).join(', ');
      },
      headerLines: () => lines,
      readBody: () => Promise.reject(new Error('no policy reads the body')),
      annotate: (field, value) => {
        this.annotations[field] = value;
      },
    };
  }

  limitRequest(ms: number): void {
    this.requestLimit = ms;
  }

  limitBackend(ms: number): void {
    this.backendLimit = ms;
  }
}

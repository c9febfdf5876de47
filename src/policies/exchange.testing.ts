import { expressionWork } from './attributes/evaluate.ts';
import {
  HeaderEdits,
  otherReadings,
  type HeaderLine,
  type HttpRequest,
  type SentCredential,
} from '../http/index.ts';
import type { ItemCall, McpItem } from '../mcp/contract.ts';
import type { ApiKeyHolder, ChosenBackend, Exchange, HostRewrite, Identity, Passage } from './policy.ts';

export interface FakeRequest {
  readonly method?: string;
  readonly target?: string;
  readonly host?: string;
  /** Unless given, the host. */
  readonly shownAuthority?: string;
  readonly scheme?: 'http' | 'https';
  readonly remoteAddress?: string;
  readonly headers?: readonly HeaderLine[];
  /** No policy may read it unless given. */
  readonly body?: string;
  readonly identity?: Identity;
  /** The first item that the body names. */
  readonly item?: { readonly item: McpItem; readonly call: ItemCall } | Error;
  readonly matchedPrefix?: string;
  readonly ruleScopes?: readonly string[];
  readonly serverName?: string;
  readonly subjectAltNames?: readonly string[];
  readonly passage?: Passage;
  readonly chosen?: ChosenBackend;
  readonly timing?: { readonly requestMs: number; readonly upstreamMs: number };
}

/** A request without a socket, and what the policies did to it. */
export class FakeExchange implements Exchange {
  readonly request: HttpRequest;
  readonly passage: Passage;
  readonly chosen: ChosenBackend | undefined;
  readonly timing: { readonly requestMs: number; readonly upstreamMs: number } | undefined;
  identity: Identity | undefined;
  token: string | undefined;
  user: string | undefined;
  apiKey: ApiKeyHolder | undefined;
  readonly namedItem: NonNullable<Exchange['namedItem']>;
  /** The route has these policies; unless given, the policy under test stands alone. */
  scopeRules: Exchange['scopeRules'];
  readonly ruleScopes: Exchange['ruleScopes'];
  readonly matchedPrefix: string | undefined;
  forwardTarget: string;
  clientTarget: string;
  forwardHost: HostRewrite | undefined;
  metadataUrl: ((exchange: Exchange) => string) | undefined;
  readonly requestHeaders = new HeaderEdits();
  readonly responseHeaders = new HeaderEdits();
  pathReadings: readonly string[];
  workLeft: number = expressionWork;
  signer: Exchange['signer'];
  readonly sentCredentials: SentCredential[] = [];
  readonly annotations: Record<string, string | number> = {};
  requestLimit: number | undefined;
  backendLimit: number | undefined;
  /** The waits that policies asked for; the test does not wait. */
  readonly closeListeners: (() => void)[] = [];
  readonly waits: number[] = [];

  constructor(fake: FakeRequest = {}) {
    this.identity = fake.identity;
    this.ruleScopes = fake.ruleScopes;
    const { item } = fake;
    this.namedItem = () => item && (item instanceof Error ? Promise.reject(item) : Promise.resolve(item));
    this.passage = fake.passage ?? {
      bind: '3000',
      listener: 'listener0',
      gateway: undefined,
      route: { name: 'route0' },
    };
    this.chosen = fake.chosen;
    this.timing = fake.timing;
    this.matchedPrefix = fake.matchedPrefix;
    const { method = 'GET', target = '/', host = 'gateway.test', scheme = 'http' } = fake;
    const lines = (fake.headers ?? []).map(([name, value]): HeaderLine => [name.toLowerCase(), value]);
    this.forwardTarget = target;
    this.clientTarget = target;
    const mark = target.indexOf('?');
    this.pathReadings = otherReadings(mark < 0 ? target : target.slice(0, mark)) ?? [];
    this.request = {
      method,
      target,
      path: mark < 0 ? target : target.slice(0, mark),
      query: mark < 0 ? '' : target.slice(mark + 1),
      host: host.replace(/:\d+$/, ''),
      authority: host,
      scheme,
      shownAuthority: fake.shownAuthority ?? host,
      shownScheme:
        scheme === 'https' || lines.some(([name, value]) => name === 'x-forwarded-proto' && value === 'https')
          ? 'https'
          : 'http',
      version: 'HTTP/1.1',
      remoteAddress: fake.remoteAddress ?? '192.0.2.7',
      remotePort: 40_000,
      localAddress: '192.0.2.1',
      localPort: 3000,
      serverName: fake.serverName,
      ...(fake.subjectAltNames && {
        clientCertificate: {
          subject: 'CN=client',
          issuer: 'CN=authority',
          subjectCn: 'client',
          subjectAltNames: fake.subjectAltNames,
          pem: '',
        },
      }),
      id: 'request-1',
      startedAt: Date.UTC(2026, 10, 1),
      header(name) {
        const found = lines.filter(([known]) => known === name.toLowerCase());
        return found.length === 0
          ? undefined
          : found.map(([, value]) => value).join(name.toLowerCase() === 'cookie' ? '; ' : ', ');
      },
      headerLines: () => lines,
      readBody: () =>
        fake.body === undefined
          ? Promise.reject(new Error('no policy reads the body'))
          : Promise.resolve(Buffer.from(fake.body)),
      decided: () => undefined,
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

  onClose(listener: () => void): void {
    this.closeListeners.push(listener);
  }

  wait(ms: number): Promise<void> {
    this.waits.push(ms);
    return Promise.resolve();
  }
}

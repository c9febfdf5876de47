import { hash } from 'node:crypto';
import { cookieValues, type HeaderEdits } from '../../http/index.ts';
import type { PersistencePlan } from '../../policies/index.ts';
import type { Destination, Endpoint } from '../../upstream/index.ts';
import type { RouteStats } from '../stats/stats.ts';
import { cookiePath } from './cookiePath.ts';
import type { CompiledRule } from './pathTable.ts';
import { SessionTokens, type SessionToken } from './sessionToken.ts';

/** A backend that sessions can belong to. */
interface PersistentBackend {
  readonly tag: string;
  readonly destination: Destination;
  /** The list that `byTag` and `tags` were made from. */
  list: readonly Endpoint[];
  byTag: ReadonlyMap<string, Endpoint>;
  tags: ReadonlyMap<Endpoint, string>;
}

/** The session of a request: where it belongs, as far as that is still there. */
export interface FoundSession {
  readonly token: SessionToken;
  /** Place of its backend in the list of backends. */
  readonly backend: number;
  /** Absent where the address is gone or does not work. */
  readonly endpoint: Endpoint | undefined;
}

/** A request that may belong to a session, and where its answer names the session. */
export interface SessionRequest {
  readonly scheme: string;
  /** The match that chose the route. */
  readonly rule: Pick<CompiledRule<unknown>, 'kind' | 'written'> | undefined;
  readonly route: { readonly stats: RouteStats } | undefined;
  readonly responseHeaders: HeaderEdits;
  header(name: string): string | undefined;
}

/** Cookies are written anew when so much of the idle time has passed, and not with every answer. */
const RENEW_AFTER = 1 / 8;

/** Finds the sessions of the requests of one route, and hands out new ones. */
export class Persistence {
  private readonly plan: PersistencePlan;
  private readonly name: string;
  private readonly tokens: SessionTokens;
  private readonly backends: readonly (PersistentBackend | undefined)[];

  /**
   * @param key 64 hex digits that processes have in common which serve the same sessions
   * @param route tells this route from the others
   * @param backends in the order of the route; undefined for those that have no addresses
   */
  constructor(
    plan: PersistencePlan,
    key: string | undefined,
    route: string,
    backends: readonly ({ readonly key: string; readonly destination: Destination } | undefined)[],
  ) {
    this.plan = plan;
    this.name = plan.name ?? `portcullis-session-${hash('sha256', route).slice(0, 8)}`;
    this.tokens = new SessionTokens(key, route);
    this.backends = backends.map((backend) =>
      backend === undefined
        ? undefined
        : {
            tag: this.tokens.backendTag(backend.key),
            destination: backend.destination,
            list: [],
            byTag: new Map(),
            tags: new Map(),
          },
    );
  }

  find(x: SessionRequest): FoundSession | undefined {
    const now = Math.floor(Date.now() / 1_000);
    const { absoluteMs = Infinity, idleMs = Infinity } = this.plan;
    for (const text of this.carried(x)) {
      const token = this.tokens.read(text);
      if (token === undefined) continue;
      if ((now - token.begun) * 1_000 >= absoluteMs || (now - token.seen) * 1_000 >= idleMs) continue;
      const backend = this.backends.findIndex((home) => home?.tag === token.backend);
      const home = this.backends[backend];
      if (home === undefined) continue;
      const endpoint = known(home, this.tokens).byTag.get(token.endpoint);
      const usable = endpoint !== undefined && home.destination.accepts(endpoint);
      return { token, backend, endpoint: usable ? endpoint : undefined };
    }
    return undefined;
  }

  /**
   * Tells the client where its session is, where it does not know yet.
   * @param backend place in the list of backends
   * @param found the session that the request came with
   * @param stays the request could not go to its address this once; the session stays there
   */
  answered(
    x: SessionRequest,
    backend: number,
    endpoint: Endpoint,
    found: FoundSession | undefined,
    stays: boolean,
  ): void {
    const stats = x.route?.stats;
    const kept = found?.endpoint !== undefined && (stays || found.endpoint === endpoint);
    if (stats !== undefined) {
      if (kept) stats.sessionsKept++;
      else if (found === undefined) stats.sessionsBegun++;
      else stats.sessionsMoved++;
    }
    const seen = Math.floor(Date.now() / 1_000);
    if (kept) {
      const { idleMs } = this.plan;
      if (idleMs === undefined || (seen - found.token.seen) * 1_000 < idleMs * RENEW_AFTER) return;
      this.give(x, { ...found.token, seen });
      return;
    }
    const home = this.backends[backend];
    const tag = home === undefined ? undefined : known(home, this.tokens).tags.get(endpoint);
    if (home === undefined || tag === undefined) return;
    this.give(x, { backend: home.tag, endpoint: tag, begun: seen, seen });
  }

  private give(x: SessionRequest, token: SessionToken): void {
    const { name, plan } = this;
    const text = this.tokens.write(token);
    if (plan.cookie === undefined) {
      x.responseHeaders.set(name, text);
      return;
    }
    const { permanent, sameSite } = plan.cookie;
    const left = Math.ceil((plan.absoluteMs ?? 0) / 1_000) - (token.seen - token.begun);
    x.responseHeaders.add(
      'set-cookie',
      `${name}=${text}; Path=${cookiePath(x.rule)}; HttpOnly; SameSite=${sameSite}` +
        (x.scheme === 'https' ? '; Secure' : '') +
        (permanent ? `; Max-Age=${left}` : ''),
    );
  }

  /** The sessions that the request carries; a browser may send several cookies of one name (RFC 6265 §5.4). */
  private carried(x: SessionRequest): readonly string[] {
    const { name, plan } = this;
    if (plan.cookie === undefined) {
      const value = x.header(name);
      return value === undefined ? [] : [value];
    }
    const cookies = x.header('cookie');
    return cookies?.includes(name) === true ? cookieValues(cookies, name).slice(0, MOST) : [];
  }
}

/** Tokens of one request that are looked at: each costs a hash. */
const MOST = 4;

/** The addresses of a backend by tag; made anew when there are others. */
function known(home: PersistentBackend, tokens: SessionTokens): PersistentBackend {
  const { destination } = home;
  if (home.list === destination.known) return home;
  const tags = new Map(
    destination.known.map((endpoint) => [endpoint, tokens.endpointTag(home.tag, endpoint.name)] as const),
  );
  home.list = destination.known;
  home.tags = tags;
  home.byTag = new Map([...tags].map(([endpoint, tag]) => [tag, endpoint]));
  return home;
}

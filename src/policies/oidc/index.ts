import { createHash, randomBytes } from 'node:crypto';
import { TextSeal } from '../../auth/index.ts';
import { GatewayError, NotEvaluated } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { within } from '../../within.ts';
import { networkOf, type HeaderLine, type Reply } from '../../http/index.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { LoginCalls } from '../loginCalls.ts';
import type { Draws, Exchange, Policy, PolicyTools, TokenLimit } from '../policy.ts';
import { CookieJar } from './cookies.ts';
import { callbackPath, logoutPath, oidcSchema, type OidcSettings } from './facts.ts';
import { Logins } from './logins.ts';
import { isNavigation, isOwnRequest } from './navigation.ts';
import { OpenCalls } from './openCalls.ts';
import { loggedOutPage, logoutPage } from './pages.ts';
import { OidcProvider } from './provider.ts';
import { Renewals, type Renewal } from './renewals.ts';
import { Sessions, type Session } from './session.ts';

/** One worker or replica renews a session that is still good; the others wait for its cookie this long. */
const turn: TokenLimit = { maxTokens: 1, tokensPerFill: 1, fillInterval: 20_000, maxKeys: 10_000 };

/** A request waits so long for the renewal of a login that is still good. */
const patienceMs = 3_000;

export const oidc: Policy<OidcSettings> = {
  schema: oidcSchema,
  prepare(settings, tools) {
    const logins = new BrowserLogin(settings, tools);
    return {
      onRequest: (exchange) => logins.answer(exchange),
      waits: true,
      problem: () => logins.problem(),
      close() {
        logins.close();
      },
    };
  },
};

/** Who is asking, by the cookies of a request; or the way to a login. */
class BrowserLogin {
  private readonly settings: OidcSettings;
  private readonly tools: PolicyTools;
  private readonly provider: OidcProvider;
  private readonly jar: CookieJar;
  private readonly sessions: Sessions;
  private readonly logins: Logins;
  private readonly renewals: Renewals;
  private readonly calls: LoginCalls;
  private readonly openCalls = new OpenCalls();
  private readonly turns: Draws;
  private readonly id: string;
  private readonly paths: { readonly origin: string; readonly callback: string; readonly logout: string };

  constructor(settings: OidcSettings, tools: PolicyTools) {
    const { issuer, clientId, clientSecret, redirectURI } = settings;
    const { sealingKey = randomBytes(32).toString('hex'), tenant } = tools;
    rememberSecrets([clientSecret]);
    const { origin, protocol } = new URL(redirectURI);
    // Routes of one tenant with the same client and callback share logins; all other cookies do not open here.
    const whose = tenant === undefined ? [] : [tenant];
    const place = JSON.stringify(['oidc', issuer, clientId, redirectURI, ...whose]);
    const id = createHash('sha256').update(place).digest('base64url').replaceAll(/[_-]/g, '').slice(0, 8);
    const seal = new TextSeal(sealingKey, place);
    this.settings = settings;
    this.tools = tools;
    this.id = id;
    this.paths = { origin, callback: callbackPath(redirectURI), logout: logoutPath(redirectURI) };
    this.jar = new CookieJar(id, protocol === 'https:');
    this.sessions = new Sessions(seal, this.jar, issuer);
    this.logins = new Logins(seal, this.jar);
    this.renewals = Renewals.of(tools.keySets);
    this.calls = LoginCalls.of(tools.keySets);
    this.turns = (tools.globalTokens ?? tools.tokens).open(`oidc ${id}`, [turn]);
    this.provider = new OidcProvider(settings, tools);
  }

  answer(exchange: Exchange): Reply | undefined | Promise<Reply | undefined> {
    const { request, trial } = exchange;
    if (request.path === this.paths.callback) return this.callback(exchange);
    if (request.path === this.paths.logout) return this.logout(exchange);
    if (trial?.claims !== undefined) return this.judge(exchange, trial.claims);
    const present = this.jar.read(request);
    const session = this.sessions.read(present);
    if (session === undefined) return this.begin(exchange, present);
    const now = this.tools.now();
    const { until, renewAt, refreshToken } = session;
    if (now < renewAt || (refreshToken === undefined && now < until)) return admit(exchange, session);
    if (refreshToken === undefined) return this.begin(exchange, present);
    if (trial === undefined) return this.renewed(exchange, session, refreshToken, present);
    if (now < until) return admit(exchange, session);
    throw new NotEvaluated('it renews the login at the provider');
  }

  problem(): string | undefined {
    return this.provider.problem();
  }

  close(): void {
    this.turns.close();
    this.openCalls.endAfter(() => this.provider.close());
  }

  /** Sends a browser to the provider, and refuses everything else. */
  private begin(exchange: Exchange, present: ReadonlyMap<string, string>): Reply | Promise<Reply> {
    const { request, trial } = exchange;
    if (!isNavigation(request)) {
      request.annotate('login', present.has('0') ? 'the login is not valid, or has expired' : 'missing');
      throw new GatewayError('login_required', {
        // RFC 9110 §11.6.1 wants a challenge; browsers ignore a scheme that they do not know.
        headers: [['www-authenticate', 'Cookie']],
        detail: 'oidc: the request is not a navigation of a browser',
      });
    }
    if (trial !== undefined) {
      trial.note('the login at the provider was not begun');
      return { status: 302, headers: [['location', this.settings.issuer]] };
    }
    return this.send(exchange, present);
  }

  private async send(exchange: Exchange, present: ReadonlyMap<string, string>): Promise<Reply> {
    const { request } = exchange;
    const { login, cookies } = this.logins.begin(request.target, present, this.tools.now());
    const location = await this.provider.authorizationUrl(login);
    if (request.authority !== new URL(this.paths.origin).host)
      request.annotate('login', `begun for a callback at another host, ${this.paths.origin}`);
    else request.annotate('login', 'begun');
    return redirect(location, [...cookies, ...this.jar.clearChunks(present)]);
  }

  /** Takes the response of the provider (OpenID Connect Core §3.1.2.5), and sends the browser back to its page. */
  private callback(exchange: Exchange): Reply | Promise<Reply> {
    const { request, trial } = exchange;
    if (trial !== undefined) throw new NotEvaluated('it exchanges the code of a login at the provider');
    if (request.method !== 'GET') return { status: 405, headers: [['allow', 'GET']] };
    const present = this.jar.read(request);
    const [state = '', ...others] = new URLSearchParams(request.query).getAll('state');
    const login = others.length > 0 ? undefined : this.logins.find(state, present, this.tools.now());
    if (login === undefined) {
      const detail = 'oidc: this browser has begun no login with this state, or it is over';
      throw new GatewayError('login_invalid', { detail, headers: noStore });
    }
    return this.complete(exchange, login, present);
  }

  private async complete(
    exchange: Exchange,
    login: Parameters<OidcProvider['redeem']>[1],
    present: ReadonlyMap<string, string>,
  ): Promise<Reply> {
    const { request, responseHeaders } = exchange;
    const granted = await this.calls.run(`oidc ${this.id}`, networkOf(request.remoteAddress), () => {
      // Whatever comes of it, this callback is over.
      responseHeaders.add(...this.logins.end(login));
      // The browser can send its cookie again.
      if (!this.calls.use(login.state, login.until, this.tools.now()))
        throw new GatewayError('login_invalid', {
          detail: 'oidc: the callback came before',
          headers: noStore,
        });
      return this.provider.redeem(request.query, login);
    });
    const now = this.tools.now();
    // The browser would go round in circles.
    if (granted.until <= now)
      throw new GatewayError('login_failed', {
        detail: 'oidc: the ID token has expired already: compare the clocks of provider and gateway',
      });
    const session = this.sessions.of(granted, now);
    const cookies = session && this.sessions.write(session, present);
    if (session === undefined || cookies === undefined) {
      const detail = 'oidc: the tokens of the provider are too large for cookies: ask for fewer scopes';
      throw new GatewayError('login_failed', { detail });
    }
    exchange.identity = session.identity;
    request.annotate('login', 'completed');
    // With the origin, a path that begins with two slashes stays a path.
    return redirect(`${this.paths.origin}${login.target}`, cookies);
  }

  /** Renews a login shortly before it ends, or after; a login that the provider does not renew begins anew. */
  private async renewed(
    exchange: Exchange,
    session: Session,
    refreshToken: string,
    present: ReadonlyMap<string, string>,
  ): Promise<Reply | undefined> {
    const key = this.keyOf(refreshToken);
    const isGood = (): boolean => this.tools.now() < session.until;
    const hasResult = (): boolean => this.renewals.hasResult(key, this.tools.now());
    if (isGood() && !hasResult() && !(await this.hasTurn(refreshToken))) return admit(exchange, session);
    const renewing = this.renewals.once(key, this.tools.now(), () =>
      this.openCalls.add(this.renew(session, refreshToken)),
    );
    if (isGood()) {
      await within(patienceMs, renewing);
      if (isGood() && !hasResult()) {
        this.renewals.leave(key, this.tools.now());
        return admit(exchange, session);
      }
    }
    const renewal = await renewing;
    // A cookie would log the browser in again, whose user has logged out in the meantime.
    const isOver = [refreshToken, renewal.kind === 'renewed' ? renewal.session.refreshToken : undefined].some(
      (token) => token !== undefined && this.renewals.hasEnded(this.keyOf(token), this.tools.now()),
    );
    if (renewal.kind === 'renewed' && !isOver) {
      // Caches store responses with cookies, too, if the backend calls a response public.
      exchange.responseHeaders.set('cache-control', 'private, no-store');
      const cookies = this.sessions.write(renewal.session, present) ?? [];
      for (const cookie of cookies) exchange.responseHeaders.add(...cookie);
      exchange.request.annotate('login', 'renewed');
      return admit(exchange, renewal.session);
    }
    if (isGood()) return admit(exchange, session);
    if (renewal.kind === 'failed') throw renewal.error;
    const why = renewal.kind === 'refused' ? renewal.why : 'the user has logged out';
    exchange.request.annotate('login', `not renewed: ${why}`);
    return await this.begin(exchange, present);
  }

  /** Several workers and replicas may see the old cookie at the same time. */
  private async hasTurn(refreshToken: string): Promise<boolean> {
    try {
      const key = createHash('sha256').update(refreshToken).digest('base64url');
      return (await this.turns.draw([key])).allowed;
    } catch {
      // The counter did not answer. The login is still good, and the next request tries again.
      return false;
    }
  }

  private async renew(before: Session, refreshToken: string): Promise<Renewal> {
    try {
      const granted = await this.provider.refresh(refreshToken);
      // OpenID Connect Core §12.2: a renewal is for the same user.
      if (granted.subject !== undefined && granted.subject !== before.identity.subject)
        return { kind: 'refused', why: 'the ID token is of another user' };
      const session = this.sessions.of(granted, this.tools.now(), before);
      return session === undefined ? { kind: 'refused', why: 'no ID token' } : { kind: 'renewed', session };
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'login_invalid')
        return { kind: 'refused', why: error.detail ?? '' };
      return { kind: 'failed', error };
    }
  }

  /** Ends the login here, and at the provider where it can. */
  private logout(exchange: Exchange): Reply | Promise<Reply> {
    const { request, trial } = exchange;
    if (request.method !== 'GET' && request.method !== 'POST')
      return { status: 405, headers: [['allow', 'GET, POST']] };
    if (!isOwnRequest(request, this.paths.origin)) return logoutPage;
    if (trial !== undefined) throw new NotEvaluated('it ends the login at the provider');
    return this.end(exchange);
  }

  private async end({ request }: Exchange): Promise<Reply> {
    const present = this.jar.read(request);
    const session = this.sessions.read(present);
    const cookies = this.jar.clearChunks(present);
    // The user need not wait for it.
    if (session?.refreshToken !== undefined) void this.openCalls.add(this.revoke(session.refreshToken));
    request.annotate('login', 'ended');
    const location = await this.provider.endSessionUrl(session?.idToken).catch((error: unknown) => {
      const problem = error instanceof GatewayError ? error.detail : messageOf(error);
      this.tools.log.warn('oidc: the login was ended at the gateway only', { problem });
      return undefined;
    });
    return location === undefined ? loggedOutPage(cookies) : redirect(location, cookies);
  }

  /** Revokes a refresh token, and the one that a renewal in progress gets for it. Never rejects. */
  private async revoke(refreshToken: string): Promise<void> {
    const renewal = this.renewals.end(this.keyOf(refreshToken), this.tools.now());
    await this.provider.revoke(refreshToken);
    const renewed = await renewal;
    if (renewed?.kind !== 'renewed') return;
    const next = renewed.session.refreshToken;
    if (next !== undefined && next !== refreshToken) await this.provider.revoke(next);
  }

  private keyOf(refreshToken: string): string {
    return `${this.id} ${refreshToken}`;
  }

  /** A request that is explained, of a user with these claims. */
  private judge(exchange: Exchange, claims: Readonly<Record<string, unknown>>): undefined {
    const verdict = this.provider.judge(claims);
    if (verdict.kind === 'refused')
      throw new GatewayError('login_required', { detail: `oidc: ${verdict.detail ?? verdict.reason}` });
    if (verdict.kind === 'unproven') exchange.identity = verdict.token;
    exchange.trial?.note('the login was not checked');
    return undefined;
  }
}

function admit(exchange: Exchange, { identity }: Session): undefined {
  exchange.identity = identity;
  return undefined;
}

const noStore: readonly HeaderLine[] = [['cache-control', 'no-store']];

const redirect = (location: string, cookies: readonly HeaderLine[]): Reply => ({
  status: 302,
  headers: [['location', location], ...noStore, ['referrer-policy', 'no-referrer'], ...cookies],
});

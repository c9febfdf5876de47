import { z } from 'zod';
import { TokenCache, type TextSeal } from '../../auth/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { Identity } from '../policy.ts';
import type { CookieJar } from './cookies.ts';
import type { Granted } from './provider.ts';

/** A login is renewed this long before it expires, or in the last quarter of a short one. */
const earlyMs = 60_000;

const sealed = z.object({
  idToken: z.string(),
  refreshToken: z.string().optional(),
  until: z.number(),
  renewAt: z.number(),
});

/** A user that is logged in. The browser keeps it, encrypted; the gateway keeps nothing. */
export interface Session {
  readonly identity: Identity;
  /** Proves to the provider which login ends. */
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** From then on it is renewed, if there is a refresh token. */
  readonly renewAt: number;
}

/** Writes sessions into cookies, and reads them. */
export class Sessions {
  private readonly seal: TextSeal;
  private readonly jar: CookieJar;
  private readonly issuer: string;
  private readonly opened = new TokenCache<Session>(1_024, 4_194_304);

  constructor(seal: TextSeal, jar: CookieJar, issuer: string) {
    this.seal = seal;
    this.jar = jar;
    this.issuer = issuer;
  }

  /** The session in the cookies of a request; undefined where there is none that this gateway has sealed. */
  read(present: ReadonlyMap<string, string>): Session | undefined {
    const text = this.jar.join(present);
    if (text === undefined) return undefined;
    const known = this.opened.get(text);
    if (known !== undefined) return known;
    const stored = sealed.safeParse(this.seal.open('session', text));
    if (!stored.success) return undefined;
    const { idToken, refreshToken, until, renewAt } = stored.data;
    const session = {
      identity: identityOf(this.issuer, idToken, until),
      idToken,
      refreshToken,
      until,
      renewAt,
    };
    this.opened.set(text, session);
    return session;
  }

  /**
   * The session of tokens that the provider has just issued.
   * @param before the session that is renewed: the provider may leave out what has not changed
   */
  of(granted: Granted, now: number, before?: Session): Session | undefined {
    const idToken = granted.idToken ?? before?.idToken;
    if (idToken === undefined) return undefined;
    const { until } = granted;
    return {
      identity: identityOf(this.issuer, idToken, until),
      idToken,
      refreshToken: granted.refreshToken ?? before?.refreshToken,
      until,
      renewAt: until - Math.min(earlyMs, Math.max(0, until - now) / 4),
    };
  }

  /** The cookies of a session; undefined where it is too large for them. */
  write(session: Session, present: ReadonlyMap<string, string>): HeaderLine[] | undefined {
    const { idToken, refreshToken, until, renewAt } = session;
    const stored: z.infer<typeof sealed> = {
      idToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      until,
      renewAt,
    };
    return this.jar.split(this.seal.seal('session', stored), present);
  }
}

/** The claims of an ID token that was verified before it was sealed. */
function identityOf(issuer: string, idToken: string, until: number): Identity {
  const body = Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString('utf8');
  const claims = JSON.parse(body) as Readonly<Record<string, unknown>>;
  return { issuer, subject: typeof claims.sub === 'string' ? claims.sub : '', claims, acceptedUntil: until };
}

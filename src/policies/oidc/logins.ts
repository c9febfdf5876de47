import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { TextSeal } from '../../auth/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { CookieJar } from './cookies.ts';

/** A user may take this long at the provider. */
const loginMs = 600_000;
/** Logins of one browser at the same time: tabs that a user restores all begin one. */
const mostLogins = 5;
/** A longer address comes back without its query, so that the cookies stay small. */
const mostTarget = 1_024;

const sealed = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  target: z.string(),
  until: z.number(),
});

/** A login under way. It is bound to one browser by a cookie of its own, so several tabs do not disturb each other. */
export type Login = z.infer<typeof sealed>;

/** Remembers logins under way, in cookies of the browsers that began them. */
export class Logins {
  private readonly seal: TextSeal;
  private readonly jar: CookieJar;

  constructor(seal: TextSeal, jar: CookieJar) {
    this.seal = seal;
    this.jar = jar;
  }

  /** Begins a login. @param target path and query to which the user comes back */
  begin(
    target: string,
    present: ReadonlyMap<string, string>,
    now: number,
  ): { login: Login; cookies: HeaderLine[] } {
    const login: Login = {
      state: random(),
      nonce: random(),
      verifier: random(),
      target: target.length <= mostTarget ? target : (target.split('?')[0] ?? '').slice(0, mostTarget),
      until: now + loginMs,
    };
    const cookie = this.jar.set(
      nameOf(login.state),
      this.seal.seal('login', login),
      Math.round(loginMs / 1_000),
    );
    return { login, cookies: [cookie, ...this.clearOldest(present, now)] };
  }

  /** The login that a callback ends; undefined if this browser has begun none with this state, or long ago. */
  find(state: string, present: ReadonlyMap<string, string>, now: number): Login | undefined {
    const found = sealed.safeParse(this.seal.open('login', present.get(nameOf(state)) ?? ''));
    return found.success && found.data.state === state && found.data.until > now ? found.data : undefined;
  }

  /** A callback is good once. */
  end = ({ state }: Login): HeaderLine => this.jar.clear(nameOf(state));

  private clearOldest(present: ReadonlyMap<string, string>, now: number): HeaderLine[] {
    return [...present]
      .filter(([name]) => name.startsWith('login-'))
      .map(([name, text]) => {
        const found = sealed.safeParse(this.seal.open('login', text));
        return { name, until: found.success ? found.data.until : 0 };
      })
      .toSorted((a, b) => b.until - a.until)
      .filter(({ until }, at) => until <= now || at >= mostLogins - 1)
      .map(({ name }) => this.jar.clear(name));
  }
}

/** 256 bits, as a PKCE verifier wants them (RFC 7636 §4.1). */
const random = (): string => randomBytes(32).toString('base64url');

/** The state is secret; a part of it names its cookie. */
const nameOf = (state: string): string => `login-${state.replace(/[^\w-]/g, '').slice(0, 10)}`;

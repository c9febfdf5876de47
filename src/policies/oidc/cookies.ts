import { cookiesOf, type HeaderLine, type HttpRequest } from '../../http/index.ts';
import { cookieName } from './facts.ts';

/** Characters of one cookie, with its name: browsers keep 4096 with the attributes (RFC 6265 §6.1). */
const mostCharacters = 3_500;
/** Cookies of one session. A head may be 64 KiB by default, and other cookies need a place in it, too. */
export const mostChunks = 6;

/** The cookies of one login: their names, and texts of any length in several of them. */
export class CookieJar {
  private readonly base: string;
  private readonly attributes: string;

  /** @param id tells the cookies of other settings apart @param isSecure the browser reaches the gateway by https */
  constructor(id: string, isSecure: boolean) {
    // With the prefix, browsers take the cookie from this host alone, and not from another one of its domain.
    this.base = `${isSecure ? '__Host-' : ''}${cookieName}-${id}`;
    this.attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** The cookies of a request whose names begin with the base and `-`; a name that comes twice counts as absent. */
  read(request: HttpRequest): ReadonlyMap<string, string> {
    const found = new Map<string, string | undefined>();
    const begin = `${this.base}-`;
    for (const [whole, value] of cookiesOf(request.header('cookie'))) {
      if (!whole.startsWith(begin)) continue;
      const name = whole.slice(begin.length);
      // Another site of the domain may have planted one of the two.
      found.set(name, found.has(name) ? undefined : value);
    }
    return new Map([...found].flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  }

  set(name: string, value: string, seconds?: number): HeaderLine {
    const age = seconds === undefined ? '' : `; Max-Age=${seconds}`;
    return ['set-cookie', `${this.base}-${name}=${value}${this.attributes}${age}`];
  }

  clear(name: string): HeaderLine {
    return this.set(name, '', 0);
  }

  /**
   * Splits a text over cookies that are called by numbers. The first begins with their count.
   * @returns undefined for a text that is too long
   */
  split(text: string, present: ReadonlyMap<string, string>): HeaderLine[] | undefined {
    const room = mostCharacters - this.base.length - 8;
    const count = Math.ceil((text.length + 2) / room);
    if (count > mostChunks) return undefined;
    const whole = `${count}.${text}`;
    const lines = Array.from({ length: count }, (_, at) =>
      this.set(String(at), whole.slice(at * room, (at + 1) * room)),
    );
    return [...lines, ...this.clearChunks(present, count)];
  }

  /** The text that `split` got; undefined where a cookie is missing. */
  join(present: ReadonlyMap<string, string>): string | undefined {
    const count = Number(/^([1-9])\./.exec(present.get('0') ?? '')?.[1] ?? 0);
    if (count === 0) return undefined;
    let whole = '';
    for (let at = 0; at < count; at++) {
      const part = present.get(String(at));
      if (part === undefined) return undefined;
      whole += part;
    }
    return whole.slice(2);
  }

  /** Deletes the numbered cookies from an index on that the browser has. */
  clearChunks(present: ReadonlyMap<string, string>, from = 0): HeaderLine[] {
    return [...present.keys()]
      .filter((name) => /^\d$/.test(name) && Number(name) >= from)
      .map((name) => this.clear(name));
  }
}

import assert from 'node:assert/strict';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { ask, type Answer } from './http.testing.ts';

/** What a browser says of itself when its user opens a page. */
const navigation = {
  accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'none',
};

/** A browser as far as a login at a gateway needs one. It keeps the cookies of one host, and follows no redirect. */
export class LoginBrowser {
  readonly cookies = new Map<string, string>();
  private readonly base: string;

  /** @param base scheme, host and port of the gateway */
  constructor(base: string) {
    this.base = base;
  }

  /** Opens an address of the gateway, or a path of it. */
  async open(
    address: string,
    headers: Readonly<Record<string, string>> = {},
    method = 'GET',
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await ask(address.startsWith('/') ? this.base + address : address, {
      method,
      headers: { ...navigation, ...(cookie === '' ? {} : { cookie }), ...headers },
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/; Max-Age=0(?:;|$)/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  /** Opens a page as a script of a page would: it is no navigation. */
  fetch(path: string): Promise<Answer> {
    return this.open(path, { accept: '*/*', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' });
  }

  /** The address of the provider's login page that a page of the gateway leads to. */
  async begin(path: string): Promise<string> {
    const { status, headers } = await this.open(path);
    assert.equal(status, 302);
    return headers.location ?? '';
  }

  /** Opens a page and logs in. @returns the page */
  async logIn(idp: DevIdp, path: string, user: string): Promise<Answer> {
    const callback = await logInAt(idp, await this.begin(path), user);
    const answer = await this.open(callback);
    assert.equal(answer.status, 302, answer.body);
    return await this.open(answer.headers.location ?? '');
  }

  /** The cookies of sessions, without those of logins under way. */
  sessions(): string[] {
    return [...this.cookies.keys()].filter((name) => /-\d$/.test(name));
  }
}

/** Logs in at the provider. @returns the address of the callback, with code and state */
export async function logInAt(idp: DevIdp, address: string, user: string): Promise<string> {
  const provider = openBrowser(idp.url);
  const page = await provider.get(address);
  assert.equal(page.status, 200, page.body);
  return (await provider.post(page.url, { user })).url;
}

/** A provider with one client, `gateway`. */
export const providerConfig = (lifetimes: object = {}) => ({
  clients: [
    {
      id: 'gateway',
      secret: 'gateway-secret',
      redirectUris: [
        'app',
        'short',
        'ending',
        'explicit',
        'written',
        'fetched',
        'filed',
        'forged',
        'listener',
      ].map((name) => `http://127.0.0.1/${name}/oauth/callback`),
    },
  ],
  users: [{ name: 'alice', groups: ['staff'] }, { name: 'bob' }],
  ...lifetimes,
});

/** A real Keycloak on loopback, with one realm, and a browser that logs in there. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { until } from '../../src/until.testing.ts';
import { ask } from '../e2e/http.testing.ts';
import { freePorts } from '../support/loopback.ts';

/** The version on Maven Central. */
export const version = '26.7.3';

const admin = { name: 'admin', password: 'admin-of-the-test' };

/** The password of every user. */
export const password = 'password-of-the-user';

/** A running Keycloak. Its data is in memory only. */
export class Keycloak {
  readonly url: string;
  private readonly child: ChildProcess;
  private said = '';

  private constructor(folder: string, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    const flags = ['--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem'];
    // The script starts a JVM, so the whole group is ended.
    this.child = spawn('bash', [join(folder, 'bin/kc.sh'), 'start-dev', ...flags], {
      detached: true,
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: admin.name,
        KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const output of [this.child.stdout, this.child.stderr])
      output?.on('data', (data: Buffer) => (this.said += String(data)));
  }

  /** @param folder the distribution */
  static async start(folder: string): Promise<Keycloak> {
    const [port = 0] = await freePorts(1);
    const keycloak = new Keycloak(folder, port);
    await until(
      'Keycloak answers',
      async () => {
        assert.equal(keycloak.child.exitCode, null, keycloak.said);
        return await fetch(`${keycloak.url}/realms/master`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      400_000,
    );
    return keycloak;
  }

  issuer(realm: string): string {
    return `${this.url}/realms/${realm}`;
  }

  /** Makes a realm. @param realm as the admin API of Keycloak describes it */
  async makeRealm(realm: object): Promise<void> {
    const response = await fetch(`${this.url}/admin/realms`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await this.adminToken()}`, 'content-type': 'application/json' },
      body: JSON.stringify(realm),
    });
    assert.equal(response.status, 201, await response.text());
  }

  async close(): Promise<void> {
    const { pid, exitCode } = this.child;
    if (pid === undefined || exitCode !== null) return;
    process.kill(-pid, 'SIGTERM');
    await once(this.child, 'exit');
  }

  private async adminToken(): Promise<string> {
    const response = await fetch(`${this.issuer('master')}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'password',
        client_id: 'admin-cli',
        username: admin.name,
        password: admin.password,
      }),
    });
    const { access_token: token } = (await response.json()) as { readonly access_token: string };
    return token;
  }
}

/** The headers of a browser whose user opens a page. */
const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

const input = /<(?:input|button)\b[^>]*>/g;
const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&');

/**
 * A browser whose user logs in with a password and allows every client: it follows redirects and fills in forms, with
 * cookies, until it is sent to `redirectUri`.
 * @returns the parameters that the client gets
 */
export const browseAs =
  (user: string) =>
  async (start: string, redirectUri: string): Promise<URLSearchParams> => {
    const page = await visit(start, user, (url) => url.startsWith(redirectUri));
    return new URL(page.url).searchParams;
  };

/** Follows redirects and fills in forms. @returns the first page that `isEnd`, which is not opened, or one without a form */
export async function visit(
  start: string,
  user: string,
  isEnd: (url: string) => boolean,
): Promise<{ readonly url: string; readonly status: number; readonly body: string }> {
  /** Host → its cookies. */
  const jars = new Map<string, Map<string, string>>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let hops = 0; hops < 20; hops++) {
    if (isEnd(url)) return { url, status: 0, body: '' };
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    const { status, headers, body } = await ask(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        ...navigation,
        cookie: [...jar].map((pair) => pair.join('=')).join('; '),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: String(form) }),
    });
    for (const line of headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    form = undefined;
    if (headers.location !== undefined) {
      url = new URL(headers.location, url).href;
      continue;
    }
    const opening = /<form\b[^>]*>/.exec(body)?.[0];
    if (opening === undefined) return { url, status, body };
    form = new URLSearchParams();
    for (const [tag] of body.matchAll(input)) {
      const name = attribute(tag, 'name');
      if (name === 'username') form.set(name, user);
      else if (name === 'password') form.set(name, password);
      else if (name === 'decision') form.set(name, 'allow');
      else if (name !== undefined && name !== 'cancel') form.set(name, attribute(tag, 'value') ?? '');
    }
    url = new URL(attribute(opening, 'action') ?? url, url).href;
  }
  throw new Error(`too many pages from ${start}, the last was ${url}`);
}

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { openBrowser, type Browser, type Visit } from '../../apps/dev-idp/src/browser.testing.ts';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import { Person } from './person.testing.ts';
import { audience, authentication, everything, inline, node } from './stage.testing.ts';

/** A provider that registers no clients and knows one for the gateway. @param log takes its lines */
export const startClosedIdp = (log: (line: string) => void = () => undefined): Promise<DevIdp> =>
  startDevIdp({
    port: 0,
    log,
    config: {
      audience,
      scopes: ['mcp'],
      clients: [
        {
          id: 'gateway',
          secret: 'gateway-secret',
          redirectUris: ['http://127.0.0.1/.well-known/mcp-login-callback/mcp'],
        },
      ],
      users: [{ name: 'alice' }],
      registration: { enabled: false },
    },
  });

/**
 * A gateway whose clients log in at it.
 * @param settings more of its mcpAuthentication
 * @param ofBackend policies of its MCP backend
 */
export const sharedLoginConfig = (idp: DevIdp, settings: object = {}, ofBackend: object = {}): string => `
config: { session: { key: ${'ab'.repeat(32)} } }
binds:
- port: 0
  listeners:
  - routes:
    - name: tools
      matches: [{ path: { exact: /mcp } }]
      policies: ${inline({
        mcpAuthentication: authentication(idp, {
          jwks: undefined,
          authorization: undefined,
          provider: { entra: {} },
          clientId: 'gateway',
          clientSecret: 'gateway-secret',
          resourceMetadata: { scopesSupported: ['mcp', 'offline_access'] },
          ...settings,
        }),
      })}
      backends: [{ mcp: { targets: [{ name: target, stdio: ${inline({ cmd: node, args: [everything, 'stdio'] })} }] }, policies: ${inline(ofBackend)} }]
`;

export type Answer = Record<string, unknown>;

export const redirectUri = 'http://127.0.0.1:33418/callback';
const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');

/** The sealed request in a consent page. */
export const requestIn = ({ body }: Visit): string => /name="request" value="([^"]*)"/.exec(body)?.[1] ?? '';

/** The login of a gateway, as a client and its user see it. */
export class SharedLogin {
  private readonly gateway: GatewayProcess;
  private readonly idp: DevIdp;

  constructor(gateway: GatewayProcess, idp: DevIdp) {
    this.gateway = gateway;
    this.idp = idp;
  }

  wellKnown(name: string): string {
    return `${this.gateway.url}/.well-known/${name}/mcp`;
  }

  async post(name: string, body: string | URLSearchParams): Promise<[number, Answer]> {
    const response = await fetch(this.wellKnown(name), { method: 'POST', body });
    return [response.status, (await response.json()) as Answer];
  }

  /** @param changes of the parameters; undefined takes one away */
  authorizeUrl(client: string, changes: Record<string, string | undefined> = {}): string {
    const url = new URL(this.wellKnown('mcp-login-authorize'));
    const parameters = {
      client_id: client,
      response_type: 'code',
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'mine',
      scope: 'mcp offline_access',
      ...changes,
    };
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) url.searchParams.set(name, value);
    return url.href;
  }

  /** From the consent page of the gateway to its callback, by way of the provider's login page. */
  async consentAndLogin(browser: Browser, page: Visit): Promise<string> {
    const sent = await browser.post(page.url, { request: requestIn(page), decision: 'allow' });
    assert.ok(sent.url.startsWith(this.idp.issuer), sent.url);
    const provider = openBrowser(this.idp.url);
    const login = await provider.get(sent.url);
    assert.equal(login.status, 200, login.body);
    return (await provider.post(login.url, { user: 'alice' })).url;
  }

  /** A user who allows the client and logs in. @returns the address that the browser ends at */
  async logIn(url: string): Promise<URL> {
    const browser = openBrowser(this.gateway.url);
    const page = await browser.get(url);
    assert.equal(page.status, 200, page.body);
    return new URL((await browser.get(await this.consentAndLogin(browser, page))).url);
  }

  redeem(client: string, code: string, changes: Record<string, string> = {}): Promise<[number, Answer]> {
    return this.post(
      'mcp-login-token',
      new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: client,
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...changes,
      }),
    );
  }

  /** A client of an SDK, and the user who logs in for it. */
  person(): Person {
    return new Person(async (url) => (await this.logIn(url)).searchParams, [redirectUri]);
  }
}

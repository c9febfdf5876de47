import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { handleAdmin } from './admin.ts';
import { BodyTooLarge } from './body.ts';
import { defaultConfig, readConfig, type DevIdpConfig } from './config.ts';
import { allowLocalPages } from './cors.ts';
import { KeyRing } from './keyRing.ts';
import { handleLogin } from './login.ts';
import { isLoopback } from './loopback.ts';
import { providerSwitch } from './providerSwitch.ts';
import { createStore } from './store.ts';
import { issueToken, type TokenRequest } from './tokens.ts';

export interface DevIdpOptions {
  /** `defaultConfig` when left out. */
  readonly config?: DevIdpConfig | undefined;
  /** In place of the configured one; 0 takes a free one. */
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** Allows a host that other machines can reach. */
  readonly forcePublic?: boolean | undefined;
  /** The bearer token that `/admin/…` demands; random where it is left out. */
  readonly adminSecret?: string | undefined;
  /** Told of refused requests, one line each, without secrets. */
  readonly log?: ((line: string) => void) | undefined;
}

export interface DevIdp {
  readonly issuer: string;
  readonly port: number;
  /** Scheme, host and port, without the issuer's path. */
  readonly url: string;
  /** The bearer token that `/admin/…` demands. */
  readonly adminSecret: string;
  /** Signs with a new key from now on; the old one stays in the set for `oldKeysKept`, unless dropped. */
  rotateKeys(options?: { dropOld?: boolean }): Promise<{ kid: string; kids: string[] }>;
  /** Makes a token outside any flow: expired, for another audience, with other claims, … */
  issueToken(request?: TokenRequest): Promise<string>;
  /** Stops listening and ends every connection; keys, codes and registered clients stay. */
  down(): Promise<void>;
  /** Listens again, on the same port. */
  up(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the authorization server. Rejects on a wrong configuration, a taken port, or a public host without force. */
export async function startDevIdp(options: DevIdpOptions = {}): Promise<DevIdp> {
  const settings = readConfig(options.config ?? defaultConfig);
  const host = options.host === undefined || options.host === 'localhost' ? '127.0.0.1' : options.host;
  const isPublic = !isLoopback(host);
  if (isPublic && !options.forcePublic) {
    throw new Error(
      `${host} can be reached from other machines; this server is for trials and listens there only when forced (--force-public)`,
    );
  }
  if (isPublic && !options.config)
    throw new Error(
      'a public host needs a configuration of its own: the secrets of the built-in one are known to all',
    );

  const adminSecret = options.adminSecret ?? randomBytes(24).toString('base64url');
  if (adminSecret.length < 16) throw new Error('the admin secret has fewer than 16 characters');

  const ring = await KeyRing.create(settings.oldKeysKept);
  const server = createServer((request, response) => void answer(request, response));
  server.listen(options.port ?? settings.port, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = settings.issuer ?? `http://localhost:${port}/oauth2/default`;
  const { origin, protocol, host: issuerHost, pathname } = new URL(issuer);
  const base = pathname === '/' ? '' : pathname;

  const provider = providerSwitch({
    parts: { settings, issuer, store: createStore(), cookieSecret: randomBytes(32).toString('base64url') },
    ring,
    log: options.log,
  });

  const actions = {
    async rotateKeys({ dropOld = false }: { dropOld?: boolean } = {}) {
      const { kid } = await ring.rotate({ dropOld });
      return { kid, kids: ring.keys.map((key) => key.kid) };
    },
    issueToken: (request: TokenRequest = {}) => issueToken(settings, issuer, ring, request),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await dispatch(request, response);
    } catch (error) {
      const status = error instanceof BodyTooLarge ? 413 : 500;
      if (status === 500)
        options.log?.(`failed ${request.method} ${request.url?.split('?', 1)[0]}: ${String(error)}`);
      if (response.headersSent) response.destroy();
      else
        response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"server_error"}\n');
    }
  }

  async function dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A name that some web page made point here (DNS rebinding) is no name of this server.
    if (!isPublic && !isLoopback(hostName(request.headers.host))) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"unknown host"}\n');
      return;
    }
    const [path, query] = splitOnce(request.url ?? '/', '?');
    if (path.startsWith('/admin/')) return handleAdmin(actions, adminSecret, path, request, response);
    const local = localPath(path, base);
    if (local === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not_found"}\n');
      return;
    }
    if (allowLocalPages(request, response)) return;

    // The issuer's own address, whatever name the request came by: the URLs in the answers must match `iss`.
    request.headers['x-forwarded-host'] = issuerHost;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    request.headers.cookie = withoutSession(request.headers.cookie ?? '');
    const { engine, handle } = provider();
    if (/^\/login\/[\w-]+$/.test(local)) return handleLogin(engine, settings, request, response);
    // Does the same as mounting in another server; the provider reads its mount path from the difference.
    const suffix = query === undefined ? '' : `?${query}`;
    Object.assign(request, { originalUrl: base + local + suffix, url: local + suffix });
    await handle(request, response);
  }

  const down = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    issuer,
    port,
    url: origin,
    adminSecret,
    ...actions,
    down,
    async up() {
      if (server.listening) return;
      server.listen(port, host);
      await once(server, 'listening');
    },
    close: down,
  };
}

/** The path below the issuer, also for metadata asked for with the issuer's path at the end (RFC 8414 §3.1). */
function localPath(path: string, base: string): string | undefined {
  const [, wellKnown, rest] =
    /^(\/\.well-known\/(?:oauth-authorization-server|openid-configuration))(\/.*)$/.exec(path) ?? [];
  if (wellKnown && rest === base) return wellKnown;
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined;
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function hostName(host: string | undefined): string {
  return host !== undefined && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

/** Leaves out the session cookie. There is no single sign-on: each login shows the page, so that the user can change. */
function withoutSession(cookies: string): string {
  return cookies
    .split(/; */)
    .filter((cookie) => !/^_session(\.sig)?=/.test(cookie))
    .join('; ');
}

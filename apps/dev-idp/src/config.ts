import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';

/** Claims the server itself decides; a configured claim of that name would be a lie or be lost. */
const ownClaims = ['iss', 'aud', 'sub', 'exp', 'iat', 'jti', 'cid', 'client_id', 'scp', 'scope', 'groups'];
const oidcScopes = ['openid', 'offline_access'];

const text = z.string().min(1);
const scopeName = text.regex(
  /^[\x21\x23-\x5B\x5D-\x7E]+$/,
  'a scope is printable and without spaces (RFC 6749 §3.3)',
);
const duration = z.custom<string | number>().transform(readDuration);
const claims = z
  .record(text, z.json())
  .refine(
    (map) => !ownClaims.some((name) => name in map),
    `these claims are set by the server: ${ownClaims.join(', ')}`,
  );

/** Redirect addresses of well-known MCP clients besides loopback ones, from their documentation. */
const clientRedirectUris = [
  // Visual Studio Code
  'https://vscode.dev/redirect',
  'https://insiders.vscode.dev/redirect',
  // Claude
  'https://claude.ai/api/mcp/auth_callback',
  'https://claude.com/api/mcp/auth_callback',
  // Cursor
  'cursor://anysphere.cursor-mcp/oauth/callback',
];

const client = z.strictObject({
  id: text,
  /** Left out: a public client, which can only log users in. */
  secret: text.optional(),
  groups: z.array(text).default([]),
  /** The scopes it may ask for; all, when left out. */
  scopes: z.array(scopeName).optional(),
  tokenLifetime: duration.optional(),
  audience: text.optional(),
  claims: claims.default({}),
  /** The URIs to which users are sent back; having one turns on authorization code with PKCE. */
  redirectUris: z.array(z.url()).default([]),
});

const user = z.strictObject({
  name: text,
  /** Left out: the login page lets one choose the user with a click. */
  password: text.optional(),
  groups: z.array(text).default([]),
  claims: claims.default({}),
});

const schema = z
  .strictObject({
    port: z.int().min(0).max(65535).default(9000),
    /** The public URL where it differs from `http://localhost:PORT/oauth2/default`. */
    issuer: z
      .url({ protocol: /^https?$/ })
      .refine((url) => !/[?#]|\/$/.test(url), 'without query, fragment and closing slash')
      .optional(),
    audience: text.default('api://default'),
    tokenLifetime: duration.default(3600),
    refreshTokenLifetime: duration.default(24 * 3600),
    /** The time that a rotated key stays in the published set. */
    oldKeysKept: duration.default(24 * 3600),
    scopes: z.array(scopeName).min(1).default(['mcp']),
    clients: z.array(client).default([]),
    users: z.array(user).default([]),
    registration: z
      .strictObject({
        enabled: z.boolean().default(true),
        /** Redirect URIs that a client may register besides loopback ones. */
        redirectUris: z.array(z.url()).default([...clientRedirectUris]),
      })
      .prefault({}),
  })
  .superRefine((config, context) => {
    const refuse = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    config.clients.forEach((entry, index) => {
      if (config.clients.findIndex((other) => other.id === entry.id) < index)
        refuse(['clients', index, 'id'], `a second client ${entry.id}`);
      if (!entry.secret && entry.redirectUris.length === 0)
        refuse(['clients', index], 'a client needs a secret or a redirect URI');
      for (const name of entry.scopes ?? []) {
        if (![...config.scopes, ...oidcScopes].includes(name))
          refuse(['clients', index, 'scopes'], `${name} is not among the scopes of the server`);
      }
    });
    config.users.forEach((entry, index) => {
      if (config.users.findIndex((other) => other.name === entry.name) < index)
        refuse(['users', index, 'name'], `a second user ${entry.name}`);
    });
  });

/** The configuration as written: what YAML holds, every field optional. Durations are seconds or like `1h30m`. */
export type DevIdpConfig = z.input<typeof schema>;
/** The configuration as used: defaults filled in, durations in seconds. */
export type Settings = z.output<typeof schema>;

/** The configuration unless another is given. Its secret is public, so it never listens but on loopback. */
export const defaultConfig: DevIdpConfig = {
  scopes: ['mcp'],
  clients: [{ id: 'demo', secret: 'demo-secret', groups: ['mcp-users'] }],
  users: [{ name: 'alice', groups: ['mcp-users'] }, { name: 'bob' }],
};

/** Checks a configuration and fills in the defaults. Throws an Error that lists everything wrong with it. */
export function readConfig(config: unknown, source = 'configuration'): Settings {
  const result = schema.safeParse(config);
  if (result.success) return result.data;
  throw new Error(`${source} is not valid:\n${z.prettifyError(result.error)}`);
}

/** Reads the YAML file. Throws an Error that names the file and everything wrong with it. */
export async function loadConfig(path: string): Promise<DevIdpConfig> {
  const document = parseDocument(await readFile(path, 'utf8'));
  if (document.errors.length > 0) throw new Error(`${path} is not YAML:\n${document.errors.join('\n')}`);
  const value = (document.toJS() ?? {}) as DevIdpConfig;
  readConfig(value, path);
  return value;
}

const units = { ms: 0.001, s: 1, m: 60, h: 3600, d: 24 * 3600 } as const;

function readDuration(written: unknown, context: z.RefinementCtx): number {
  if (typeof written === 'number' && Number.isInteger(written) && written > 0) return written;
  if (typeof written !== 'string' || !/^(\d+(ms|[smhd]))+$/.test(written)) {
    context.addIssue({
      code: 'custom',
      message: `not a duration: ${JSON.stringify(written)} (seconds, or like 90s, 5m, 1h30m)`,
    });
    return z.NEVER;
  }
  let seconds = 0;
  for (const [, count, unit] of written.matchAll(/(\d+)(ms|[smhd])/g)) {
    seconds += Number(count) * units[unit as keyof typeof units];
  }
  return Math.max(1, Math.round(seconds));
}

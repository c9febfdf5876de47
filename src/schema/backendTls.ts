import { z } from 'zod';
import type { BackendTls, Pem } from '../model/index.ts';
import { fields, parsed } from './fields.ts';
import { namesFile } from './namedFile.ts';
import { hostname } from './scalars.ts';

const isPem = (text: string): boolean => text.includes('-----BEGIN ');

/** As existing files have it: the path of a file. Certificates may also stand right in the configuration. */
const certificatePem = (text: string): Pem | undefined =>
  isPem(text) ? { inline: text } : text === '' || text.includes('\0') ? undefined : { file: text };

export const certificate = namesFile(
  parsed('the path of a PEM file, or its text', certificatePem),
  'file',
  (value) => !isPem(value),
);

export const keyFile = namesFile(
  parsed('the path of a PEM file', (text): Pem | undefined => {
    if (isPem(text)) throw new Error('expected the path of a file: a private key does not belong in here');
    return certificatePem(text);
  }),
);

/** Names of the format → names of OpenSSL. */
const groups: Readonly<Record<string, string>> = {
  X25519: 'X25519',
  'P-256': 'P-256',
  'P-384': 'P-384',
  X25519_MLKEM768: 'X25519MLKEM768',
};

export const keyExchangeGroups = z
  .array(
    parsed(`one of ${Object.keys(groups).join(', ')}`, (text) =>
      Object.hasOwn(groups, text) ? groups[text] : undefined,
    ),
  )
  .min(1, { error: 'expected at least one group' })
  .optional()
  .describe('Groups for the key exchange, the best first; those of the platform by default.');

export const serverName = parsed('a host name or an address, without scheme and port', (text) => {
  const name = text.toLowerCase();
  if (/^[0-9a-f:.]+$/.test(name) && name.includes(':')) return name;
  return hostname.safeParse(name).success && !name.startsWith('*') ? name : undefined;
});

const alternativeName = parsed('a host name, an address or a URI such as spiffe://…', (text) =>
  /^[a-z][a-z0-9+.-]*:\/\/[^\s",]+$/i.test(text) || serverName.safeParse(text).success ? text : undefined,
);

const common = {
  hostname: serverName
    .optional()
    .describe('Name to ask for (SNI) and to find in the certificate; the host of the backend by default.'),
  root: certificate
    .optional()
    .describe(
      'Authorities to trust, as a PEM file or text; by default those that Node ships and NODE_EXTRA_CA_CERTS adds.',
    ),
  cert: certificate
    .optional()
    .describe('Certificate (with its chain) that the gateway shows, as a PEM file or text.'),
  key: keyFile.optional().describe('File with the private key of `cert`.'),
  insecure: z
    .boolean()
    .optional()
    .describe('Take any certificate, whoever signed it, for whatever name; false by default.'),
  insecureHost: z
    .boolean()
    .optional()
    .describe('Take a trusted certificate whatever name it is for; false by default.'),
  subjectAltNames: z
    .array(alternativeName)
    .optional()
    .describe('Names, addresses or URIs of which the certificate may hold one instead of `hostname`.'),
  keyExchangeGroups,
};

export function together<Schema extends z.ZodType<{ cert?: unknown; key?: unknown }>>(
  schema: Schema,
): Schema {
  return schema.superRefine(({ cert, key }, context) => {
    if ((cert === undefined) === (key === undefined)) return;
    const [there, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    context.addIssue({ code: 'custom', path: [there], message: `needs ${missing} beside it` });
  });
}

const protocols = <Schema extends z.ZodType<string, string>>(one: Schema): z.ZodArray<Schema> =>
  z.array(one).min(1, { error: 'expected at least one protocol' });

/** `backendTLS`, on a route for all of its HTTP backends, or on a single backend. */
export const backendTls = together(
  fields(
    {
      ...common,
      alpn: protocols(
        parsed('http/1.1', (text): string | undefined => {
          if (text === 'h2') throw new Error('h2 is offered by http.version: HTTP/2.0, and alpn left out');
          return text === 'http/1.1' ? text : undefined;
        }),
      )
        .optional()
        .describe('Protocols to offer: http/1.1. For HTTP/2 it is left out, and http.version says HTTP/2.0.'),
    },
    ['spiffe'],
  ),
).meta({ id: 'backendTLS' });

/** The same for connections that carry anything. */
export const rawBackendTls = together(
  fields(
    {
      ...common,
      // RFC 7301 §3.1
      alpn: protocols(
        parsed('the name of a protocol, at most 255 bytes', (text) =>
          text !== '' && Buffer.byteLength(text) <= 255 ? text : undefined,
        ),
      )
        .optional()
        .describe('Protocols to offer (ALPN), the best first; none by default.'),
    },
    ['spiffe'],
  ),
).meta({ id: 'rawBackendTLS' });

export type BackendTlsSettings = z.output<typeof backendTls>;

/** The settings in the words of the model, with their defaults. */
export function buildTls(settings: BackendTlsSettings): BackendTls {
  const { hostname, root, cert, key, keyExchangeGroups, alpn } = settings;
  return {
    ...(hostname === undefined ? {} : { hostname }),
    ...(root === undefined ? {} : { root }),
    ...(cert === undefined || key === undefined ? {} : { client: { cert, key } }),
    insecure: settings.insecure ?? false,
    insecureHost: settings.insecureHost ?? false,
    subjectAltNames: settings.subjectAltNames ?? [],
    ...(keyExchangeGroups === undefined ? {} : { groups: keyExchangeGroups }),
    ...(alpn === undefined ? {} : { alpn }),
  };
}

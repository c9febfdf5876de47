import { z } from 'zod';
import {
  certificate,
  fields,
  keyFile,
  listenPort,
  namesFile,
  parsed,
  positiveDuration,
  secret,
  serverName,
  together,
} from '../../schema/index.ts';

/** RFC 3986, with the schemes of Redis: `redis`, and `rediss` for TLS. */
function parseUrl(text: string): { host: string; port: number; database: number; tls: boolean } | undefined {
  const url = URL.parse(text);
  if (url === null || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') return undefined;
  if (url.username !== '' || url.password !== '')
    throw new Error('expected no user and password here: write them as username and password');
  if (url.search !== '' || url.hash !== '' || !/^\/?\d{0,3}$/.test(url.pathname)) return undefined;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 6379 : Number(url.port),
    database: Number(url.pathname.slice(1)),
    tls: url.protocol === 'rediss:',
  };
}

const file = (what: string) =>
  z.strictObject({
    file: namesFile(
      z
        .string()
        .min(1)
        .meta({ description: `A file that holds ${what}.` }),
    ),
  });

const username = z
  .union([z.string().min(1).max(1_024).meta({ description: 'The name itself.' }), file('the name')])
  .describe('User of the access control list (ACL) of the server: written here, or `{file: …}`.');

const password = z
  .union([
    secret(z.string().min(1).max(1_024).meta({ description: 'The password itself.' }), 'text'),
    file('the password'),
  ])
  .describe('Password of the user: written here, or `{file: …}`.');

const redis = fields({
  url: parsed('redis://host:port/database, or rediss:// for TLS', parseUrl)
    .optional()
    .describe('Address of the server: redis://host:port/database, or rediss:// for TLS.'),
  host: z.string().min(1).max(255).optional().describe('Name or address of the server, in the place of url.'),
  port: listenPort
    .refine((port) => port > 0, { error: 'expected a port above 0' })
    .optional()
    .describe('Port of the server beside host; 6379 by default.'),
  database: z.int().min(0).max(999).optional().describe('Number of the database beside host; 0 by default.'),
  tls: together(
    fields({
      hostname: serverName
        .optional()
        .describe('Name to ask for (SNI) and to find in the certificate; the host of the server by default.'),
      root: certificate
        .optional()
        .describe('Authorities to trust, as a PEM file or text; by default those that Node ships.'),
      cert: certificate.optional().describe('Certificate that the gateway shows, as a PEM file or text.'),
      key: keyFile.optional().describe('File with the private key of `cert`.'),
    }),
  )
    .optional()
    .describe('Speak TLS with the server.'),
  username: username.optional(),
  password: password.optional(),
  keyPrefix: z
    .string()
    .regex(/^[\x21-\x7e]{0,128}$/, { error: 'expected at most 128 visible characters of ASCII' })
    .optional()
    .describe('Begins every key; portcullis: by default. Gateways with other prefixes share nothing.'),
  connectTimeout: positiveDuration
    .optional()
    .describe('Time to connect to the server and to log in; 2s by default.'),
  commandTimeout: positiveDuration
    .optional()
    .describe('Time that the server may take to answer; 250ms by default.'),
}).superRefine(({ url, host, port, database, username: user, password: word }, context) => {
  const problem = (path: string, message: string): void =>
    context.addIssue({ code: 'custom', message, path: [path] });
  if ((url === undefined) === (host === undefined))
    context.addIssue({ code: 'custom', message: 'expected either url or host' });
  for (const [name, value] of Object.entries({ port, database }))
    if (value !== undefined && host === undefined) problem(name, 'stands beside host only: url has it');
  if (user !== undefined && word === undefined) problem('username', 'needs password beside it');
});

/** `config.store`: the place of the state that replicas share. */
export const store = fields({
  redis: redis.describe('A server of Redis or Valkey.'),
}).describe('Place of the state that the replicas of a gateway share; without it each gateway has its own.');

export type StoreDocument = z.output<typeof store>;

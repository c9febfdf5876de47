import { isIP } from 'node:net';
import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import { messageOf } from '../errorText.ts';
import { readRegularText } from '../files/index.ts';
import type { StoreSettings } from '../model/index.ts';
import { PemFiles, pemCertificates, pemText } from '../upstream/index.ts';

/** The secret in the text of a file, which editors end with a line break. */
function readPassword(text: string): string {
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw new Error('the text is empty');
  if (/[\r\n\0]/.test(password)) throw new Error('the text has more than one line');
  return password;
}

/** Everything that a connection needs from files, read just before it is opened. */
export interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Undefined: without TLS. */
  readonly tls: ConnectionOptions | undefined;
}

/** @throws Error naming the field and the file that cannot be used */
export function readCredentials(settings: StoreSettings): Credentials {
  return {
    username: textOf(settings.username, 'username'),
    password: textOf(settings.password, 'password'),
    tls: tlsOf(settings),
  };
}

/** The files that `readCredentials` reads, and whether they have changed since. */
export function credentialFiles({ username, password, tls }: StoreSettings): PemFiles {
  const texts = [username, password].map((source) => (source?.kind === 'file' ? source : undefined));
  return new PemFiles([...texts, tls?.root, tls?.client?.cert, tls?.client?.key]);
}

function textOf(source: StoreSettings['password'], field: string): string | undefined {
  if (source === undefined) return undefined;
  if (source.kind === 'inline') return source.text;
  try {
    return readPassword(readRegularText(source.file));
  } catch (error) {
    throw new Error(`${field}: ${source.file}: ${messageOf(error)}`, { cause: error });
  }
}

function tlsOf({ host, tls }: StoreSettings): ConnectionOptions | undefined {
  if (tls === undefined) return undefined;
  const { root, client, hostname: name = host } = tls;
  return {
    minVersion: 'TLSv1.2',
    // A server name is never an address (RFC 6066 §3); the certificate is compared with it all the same.
    servername: isIP(name) === 0 ? name : '',
    checkServerIdentity: (_asked, shown) => checkServerIdentity(name, shown),
    ...(root === undefined ? {} : { ca: pemCertificates(root, 'tls.root') }),
    ...(client === undefined
      ? {}
      : { cert: pemCertificates(client.cert, 'tls.cert'), key: pemText(client.key, 'tls.key') }),
  };
}

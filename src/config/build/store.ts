import type { StoreSettings, TextSource } from '../../model/index.ts';
import type { StoreDocument } from '../schema/store.ts';

const source = (written: string | { readonly file: string }): TextSource =>
  typeof written === 'string' ? { kind: 'inline', text: written } : { kind: 'file', file: written.file };

/** `config.store` with its defaults. */
export function buildStore({ redis }: StoreDocument): StoreSettings {
  const { url, host = '', port = 6379, database = 0, tls, username, password } = redis;
  const { cert, key, hostname, root } = tls ?? {};
  return {
    ...(url === undefined
      ? { host, port, database }
      : { host: url.host, port: url.port, database: url.database }),
    ...((tls !== undefined || url?.tls === true) && {
      tls: {
        ...(hostname === undefined ? {} : { hostname }),
        ...(root === undefined ? {} : { root }),
        ...(cert === undefined || key === undefined ? {} : { client: { cert, key } }),
      },
    }),
    ...(username === undefined ? {} : { username: source(username) }),
    ...(password === undefined ? {} : { password: source(password) }),
    keyPrefix: redis.keyPrefix ?? 'portcullis:',
    connectTimeoutMs: redis.connectTimeout ?? 2_000,
    commandTimeoutMs: redis.commandTimeout ?? 250,
  };
}

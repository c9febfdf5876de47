import type { HttpBackend, NetworkTarget, TcpBackend } from '../model/index.ts';

/** The part of a backend that says where its requests go and how: all that backends need have in common to share it. */
export type Target = Omit<
  HttpBackend,
  'kind' | 'weight' | 'key' | 'place' | 'affinity' | 'requestTimeoutMs' | 'policies' | 'mirrors'
> & {
  /** Its connections carry what clients send as it comes: each is for one client, and for no request before. */
  readonly raw?: true;
  /** A tenant of a cluster may have written its name: no address of the machine or of the cloud counts. */
  readonly guarded?: true;
};

const names: readonly string[] = Object.keys({
  host: true,
  port: true,
  addresses: true,
  endpoints: true,
  tls: true,
  ownHost: true,
  http2: true,
  eviction: true,
  check: true,
  connections: true,
  tcp: true,
  raw: true,
  guarded: true,
} satisfies Record<keyof Target, true>);

export const targetOf = (backend: HttpBackend | TcpBackend | NetworkTarget): Target =>
  Object.fromEntries(Object.entries(backend).filter(([name]) => names.includes(name))) as unknown as Target;

/** The same for connections that carry anything; without ALPN unless it is asked for, since we do not know what. */
export const rawTargetOf = (backend: TcpBackend): Target => ({
  ...targetOf(backend),
  ...(backend.tls === undefined ? {} : { tls: { alpn: [], ...backend.tls } }),
  raw: true,
});

/** `Host` without the port that the scheme implies: many servers compare it with their name. */
export function authorityOf({ host, port, tls }: Pick<Target, 'host' | 'port' | 'tls'>): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (tls === undefined ? 80 : 443) ? name : `${name}:${port}`;
}

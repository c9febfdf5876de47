import type { z } from 'zod';
import type { BackendTls } from '../../model/index.ts';
import { backendName, buildTls, type HostAndPort } from '../../schema/index.ts';

/** A server that a policy calls. */
export interface PolicyServer {
  /** Empty while the name of a backend stands for the address. */
  readonly host: string;
  readonly port: number;
  readonly tls?: BackendTls;
  /** The top-level backend that has the address; absent in a model. */
  readonly namedBackend?: string;
}

/** The address of a top-level backend, and its TLS. */
export type NamedServer = Pick<PolicyServer, 'host' | 'port' | 'tls'>;
export type FindServer = (name: string) => NamedServer;

interface WrittenServer {
  readonly host?: HostAndPort | undefined;
  readonly backend?: string | undefined;
}

/** The field that names a backend in the place of `host`. */
export const serverName = backendName
  .optional()
  .meta({ description: 'The same, as the name of an entry of the top-level `backends` with a `host`.' });

/** The server of `host` or `backend`. @param tls of the settings, which counts before that of the backend */
export function policyServer(
  { host: at, backend }: WrittenServer,
  tls: Parameters<typeof buildTls>[0] | undefined,
  ctx: z.RefinementCtx,
): PolicyServer {
  if ((at === undefined) === (backend === undefined))
    ctx.addIssue({
      code: 'custom',
      message: `expected either host or backend${at === undefined ? '' : ', got both'}`,
    });
  const { host = '', port = 0, https = false } = at ?? {};
  return {
    host,
    port,
    ...(https || tls !== undefined ? { tls: buildTls(tls ?? {}) } : {}),
    ...(backend === undefined ? {} : { namedBackend: backend }),
  };
}

/** The same server with the address of its backend. */
export function located<Server extends PolicyServer>(server: Server, find: FindServer): Server {
  const { namedBackend, ...own } = server;
  if (namedBackend === undefined) return server;
  const { host, port, tls } = find(namedBackend);
  const secured = own.tls ?? tls;
  return { ...own, host, port, ...(secured === undefined ? {} : { tls: secured }) } as Server;
}

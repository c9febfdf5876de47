import type { IncomingMessage } from 'node:http';
import { messageOf } from '../errorText.ts';
import { isExposed, type ListenAddress } from '../model/index.ts';
import type { SocketHandle } from '../proxy/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { AdminAccess } from './access/adminAccess.ts';
import { LinkFile } from './access/linkFile.ts';
import { callbackPage } from './access/callbackPage.ts';
import { loginPages } from './access/loginPages.ts';
import { serve, type ServeOptions } from './answer.ts';
import { apiOperations } from './api/operations.ts';
import { loginUrl, type OwnAddress } from './api/sessionOperations.ts';
import type { AdminViews } from './contract.ts';
import { createConsole, type Console } from './console/index.ts';
import type { ConsoleDoor } from './door/consoleDoor.ts';
import { DoorAccess } from './door/doorAccess.ts';
import { refusal } from './guard.ts';
import { EventStreams } from './eventStream.ts';
import { openServer, type OpenServer } from './listen.ts';
import { keepOperatorSecret } from './operatorSecret.ts';
import type { Page } from './page.ts';
import { adminPages, readinessPages, statsPages } from './pages.ts';

export interface AdminOptions {
  readonly admin: ListenAddress;
  readonly stats: ListenAddress;
  readonly readiness: ListenAddress;
  readonly views: AdminViews;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The answer of /metrics; that of `metrics` alone unless given. */
  readonly expose?: () => Promise<string>;
  /** The built files of the console; absent: the admin port has no console. */
  readonly consoleFolder?: URL;
  /** The way of routes to the console. Its maker closes it. */
  readonly door?: ConsoleDoor;
  /** Sockets of the program before this one, as its `handles` had them; where there was one, `openRest` is due. */
  readonly inherited?: Admin['handles'] | undefined;
  /** Shows the first link to the console to the operator; a file that only this user can read has it where absent. */
  readonly showLink?: ((url: string) => void) | undefined;
}

export interface Admin {
  /**
   * The addresses of the servers, also of those that `openRest` opens: `http://host:port` or `unix:/path`; undefined if
   * a server is off.
   */
  readonly addresses: {
    readonly admin: string | undefined;
    readonly stats: string | undefined;
    readonly readiness: string | undefined;
  };
  /** The handles on which another program can listen, by purpose and wished address. */
  readonly handles: ReadonlyMap<string, SocketHandle>;
  /**
   * Opens what only one program can have open, when the one before has left it: files of sockets.
   * @throws Error naming the port that could not be opened
   */
  openRest(): Promise<void>;
  /** Leaves the ports to another program; resolves when what was asked is answered, and nobody is connected. */
  stopAccepting(): Promise<void>;
  close(): Promise<void>;
}

type Handler = ReturnType<typeof serve>;

const purposes = ['admin', 'stats', 'readiness'] as const;
type Purpose = (typeof purposes)[number];

/**
 * Opens the operator's three ports and registers the metrics that are read from the views.
 * @throws Error naming the port that could not be opened; none stays open then
 */
export const startAdmin = async (options: AdminOptions): Promise<Admin> => {
  const { views, log, metrics } = options;
  const exposed = isExposed(options.admin);
  const host = options.admin.kind === 'tcp' ? options.admin.host : undefined;
  const access = new AdminAccess({ host, exposed, log });
  // Only the owner of a socket file can connect to it (mode 0600).
  if (options.admin.kind === 'unix') access.secret = 'owner';
  const streams = new EventStreams();
  /** This program removes the file of the secret at its end. */
  let ownsSecret = false;
  const files = options.consoleFolder === undefined ? undefined : createConsole(options.consoleFolder, log);
  let link: LinkFile | undefined;
  const requests = metrics.counter('admin_requests_total', 'Requests to the admin port by page and status.', [
    'method',
    'path',
    'status',
  ]);
  metrics.collect('console_sessions', 'Sessions of browsers on the admin port.', 'gauge', [], () => [
    { labels: {}, value: access.sessions.size },
  ]);
  const ownAddress = (): OwnAddress => addressFor(addresses.admin);
  const operations = apiOperations({ views, streams, access, address: ownAddress });
  const callback = views.gateway === undefined ? [] : [callbackPage(views.gateway.logins)];
  const logins =
    views.gateway === undefined ? [] : [...loginPages(access, () => ownAddress().port), ...callback];
  const common = {
    log,
    acted: views.acted?.bind(views),
    count: (method: string, page: Page | undefined, status: number) =>
      requests.add({
        method: methods.has(method) ? method : 'other',
        path: page?.path ?? 'other',
        status: String(status),
      }),
  };
  if (options.door !== undefined)
    serveDoor(options.door, files, [...operations.map(({ page }) => page), ...callback], common);
  const pages: Readonly<Record<Purpose, Handler>> = {
    admin: withConsole(
      files,
      (request) => refusal(request, host),
      serve({
        ...common,
        pages: adminPages(views, operations, logins),
        admit: (request, page) => access.admit(request, page),
      }),
    ),
    stats: serve({ pages: statsPages(options.expose ?? (() => metrics.expose()), metrics.contentType), log }),
    readiness: serve({ pages: readinessPages(views), log }),
  };
  const open: OpenServer[] = [];
  const handles = new Map<string, SocketHandle>();
  const later: Purpose[] = [];
  const addresses: Record<Purpose, string | undefined> = {
    admin: undefined,
    stats: undefined,
    readiness: undefined,
  };
  const openOne = async (purpose: Purpose): Promise<void> => {
    const where = options[purpose];
    const key = keyOf(purpose, where);
    const server = await openServer(
      purpose,
      where,
      (request, response) => void pages[purpose](request, response),
      options.inherited?.get(key),
    );
    if (server === undefined) return;
    open.push(server);
    addresses[purpose] = server.address;
    if (server.handle !== undefined) handles.set(key, server.handle);
    if (purpose === 'admin' && where.kind === 'tcp') keepSecret(server.address, options.inherited?.has(key));
  };
  const keepSecret = (address: string, takeOver = false): void => {
    const { hostname, port } = new URL(address);
    const where = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80) };
    try {
      const secret = keepOperatorSecret(where, takeOver);
      access.secret = secret;
      ownsSecret = !takeOver;
      log.info('Admin changes require the operator secret', { file: secret.file });
    } catch (error) {
      const reason = messageOf(error);
      if (exposed)
        throw new Error(
          `the admin address ${address} can be reached from other machines, and the gateway could not store the secret that protects it: ${reason}`,
          { cause: error },
        );
      log.warn('Admin changes disabled: the operator secret could not be stored', { reason });
    }
  };
  /** A link for the operator of this machine. On an exposed address, `portcullis console` asks for one. */
  const offerLink = (): void => {
    const { secret } = access;
    const { origin } = ownAddress();
    if (exposed || origin === undefined || typeof secret !== 'object' || views.gateway === undefined) return;
    const make = (): string =>
      loginUrl(
        origin,
        access.links.make('operator', () => link?.remove()),
      );
    if (options.showLink !== undefined) {
      options.showLink(make());
      return;
    }
    try {
      link = LinkFile.write(secret.file, make());
      log.info('Console link written', { file: link.file });
    } catch (error) {
      log.warn('Console link could not be written', { reason: messageOf(error) });
    }
  };
  const close = async (): Promise<void> => {
    link?.remove();
    if (ownsSecret && typeof access.secret === 'object') access.secret.remove();
    streams.end();
    await Promise.all(open.map(async (server) => await server.close()));
  };
  try {
    for (const purpose of purposes) {
      const where = options[purpose];
      if (options.inherited === undefined || where.kind !== 'unix') await openOne(purpose);
      else {
        later.push(purpose);
        addresses[purpose] = `unix:${where.path}`;
      }
    }
  } catch (error) {
    await close();
    throw error;
  }
  registerViews(views, metrics);
  offerLink();
  return {
    addresses,
    handles,
    openRest: async () => {
      ownsSecret = true;
      for (const purpose of later.splice(0)) await openOne(purpose);
    },
    stopAccepting: async () => {
      ownsSecret = false;
      streams.end();
      await Promise.all(open.map(async (server) => await server.stopAccepting()));
    },
    close,
  };
};

/** Requests that `foreign` refuses get the refusal of the other pages. */
const withConsole =
  (
    files: Console | undefined,
    foreign: (request: IncomingMessage) => string | undefined,
    rest: Handler,
  ): Handler =>
  async (request, response) => {
    const own = files !== undefined && foreign(request) === undefined;
    if (!own || !(await files.serve(request, response))) await rest(request, response);
  };

/** Serves the console and its API to routes. The pages of the operator's port stay there. */
function serveDoor(
  door: ConsoleDoor,
  files: Console | undefined,
  pages: readonly Page[],
  common: Pick<ServeOptions, 'log' | 'acted' | 'count'>,
): void {
  const access = new DoorAccess(door.secret, common.log);
  const handle = withConsole(
    files,
    (request) => access.refusal(request),
    serve({
      ...common,
      pages,
      admit: (request, page) => access.admit(request, page),
    }),
  );
  door.serve((request, response) => void handle(request, response));
}

/** A client can make up methods; series must stay few. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE']);

/** The same wish finds the same socket, also where the system chose the port. */
const keyOf = (purpose: Purpose, where: ListenAddress): string => `${purpose} ${JSON.stringify(where)}`;

/** The address of the port for browsers. A wildcard address covers this machine. */
function addressFor(address: string | undefined): OwnAddress {
  if (address?.startsWith('http://') !== true) return { origin: undefined, port: 0 };
  const { hostname, port } = new URL(address);
  const host = hostname === '0.0.0.0' || hostname === '[::]' ? 'localhost' : hostname;
  return { origin: `http://${host}:${port || '80'}`, port: Number(port || 80) };
}

const registerViews = (views: AdminViews, metrics: Metrics): void => {
  metrics.collect(
    'config_synchronized',
    '1 when the newest configuration runs, 0 when it was refused and an older one runs.',
    'gauge',
    [],
    () => [{ labels: {}, value: views.configState().synchronized ? 1 : 0 }],
  );
  metrics.collect(
    'config_last_reload_success_timestamp_seconds',
    'When a configuration was last taken into use, in seconds since the epoch.',
    'gauge',
    [],
    () => {
      const { loadedAt } = views.configState();
      return loadedAt === undefined ? [] : [{ labels: {}, value: loadedAt / 1_000 }];
    },
  );
  metrics.collect(
    'ready',
    '1 when the gateway takes traffic, 0 while it starts or drains.',
    'gauge',
    [],
    () => [{ labels: {}, value: views.readiness() === 'ready' ? 1 : 0 }],
  );
  metrics.collect('build_info', 'Always 1; the label tells the version.', 'gauge', ['version'], () => [
    { labels: { version: views.version }, value: 1 },
  ]);
};

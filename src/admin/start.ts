import type { RequestListener } from 'node:http';
import type { ListenAddress } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { serve } from './answer.ts';
import type { AdminViews } from './contract.ts';
import { refusal } from './guard.ts';
import { openServer, type OpenServer } from './listen.ts';
import { adminPages, readinessPages, statsPages } from './pages.ts';

export interface AdminOptions {
  readonly admin: ListenAddress;
  readonly stats: ListenAddress;
  readonly readiness: ListenAddress;
  readonly views: AdminViews;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** What /metrics answers; that of `metrics` alone unless given. */
  readonly expose?: () => Promise<string>;
}

export interface Admin {
  /** Where each listens: `http://host:port` or `unix:/path`; undefined where it is off. */
  readonly addresses: {
    readonly admin: string | undefined;
    readonly stats: string | undefined;
    readonly readiness: string | undefined;
  };
  close(): Promise<void>;
}

/**
 * Opens the operator's three ports and registers the metrics that are read from the views.
 * @throws Error naming the port that could not be opened; none stays open then
 */
export const startAdmin = async (options: AdminOptions): Promise<Admin> => {
  const { views, log, metrics } = options;
  registerViews(views, metrics);
  const configuredHost = options.admin.kind === 'tcp' ? options.admin.host : undefined;
  const admin = serve(adminPages(views), log, (request) => refusal(request, configuredHost));
  const open: OpenServer[] = [];
  const openOne = async (
    purpose: 'admin' | 'stats' | 'readiness',
    handle: (...args: Parameters<RequestListener>) => Promise<void>,
  ): Promise<string | undefined> => {
    const server = await openServer(purpose, options[purpose], (request, response) => {
      void handle(request, response);
    });
    if (server !== undefined) open.push(server);
    return server?.address;
  };
  const close = async (): Promise<void> => {
    await Promise.all(open.map(async (server) => await server.close()));
  };
  try {
    const addresses = {
      admin: await openOne('admin', admin),
      stats: await openOne(
        'stats',
        serve(statsPages(options.expose ?? (() => metrics.expose()), metrics.contentType), log),
      ),
      readiness: await openOne('readiness', serve(readinessPages(views), log)),
    };
    return { addresses, close };
  } catch (error) {
    await close();
    throw error;
  }
};

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

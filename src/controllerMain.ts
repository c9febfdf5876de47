import { startAdmin, type Admin } from './admin/index.ts';
import { maskedFields } from './config/index.ts';
import { kubeAccess, KubeApi, startControlPlane, type ControlPlaneSettings } from './controller/index.ts';
import { defaults, type ListenAddress } from './model/index.ts';
import { createLogger, createMetrics, type LogFormat, type LogLevel } from './telemetry/index.ts';

export interface ControllerSettings extends ControlPlaneSettings {
  /** The version of this program. */
  readonly version: string;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly logFormat: LogFormat | undefined;
  readonly admin: ListenAddress | undefined;
  readonly stats: ListenAddress | undefined;
  readonly readiness: ListenAddress | undefined;
}

export interface RunningController {
  /** Resolves when the controller has ended. */
  readonly closed: Promise<void>;
  /** Lets writes that are under way finish. */
  close(): Promise<void>;
  closeNow(): Promise<void>;
}

/**
 * Puts the controller together and starts it. It is ready when it knows the whole cluster and has translated it; an API
 * server that is away does not keep it from starting.
 *
 * @throws Error when the cluster's address is not known or a port cannot be bound; nothing is left running then
 */
export async function startController(settings: ControllerSettings): Promise<RunningController> {
  const { version } = settings;
  const { fixed } = defaults;
  const log = createLogger({
    level: settings.logLevel ?? fixed.logLevel,
    format: settings.logFormat ?? fixed.logFormat,
  });
  const metrics = createMetrics();
  const access = await kubeAccess({ file: settings.kubeconfig, context: settings.context });
  const api = new KubeApi({ access, metrics, userAgent: `portcullis-controller/${version}` });
  let draining = false;
  let ended = (): void => {};
  const closed = new Promise<void>((resolve) => (ended = resolve));

  const plane = await startControlPlane(settings, { access, api, version, log, metrics });
  const { controller, models, namespace } = plane;
  let admin: Admin | undefined;
  let finishing: Promise<void> | undefined;
  const finish = (): Promise<void> =>
    (finishing ??= (async () => {
      await admin?.close();
      api.close();
      log.close();
      ended();
    })());
  let closing: Promise<void> | undefined;
  const running: RunningController = {
    closed,
    close: async () => {
      draining = true;
      await (closing ??= plane.close().then(finish));
    },
    // The process does not wait for pending writes; the lease runs out by itself.
    closeNow: async () => {
      void plane.close();
      await finish();
    },
  };
  try {
    admin = await startAdmin({
      admin: settings.admin ?? fixed.admin,
      stats: settings.stats ?? fixed.stats,
      readiness: settings.readiness ?? fixed.readiness,
      log,
      metrics,
      views: {
        version,
        masked: maskedFields,
        isShared: true,
        model: () => undefined,
        configState: () => ({
          source: 'kubernetes',
          loadedAt: controller.translatedAt,
          triedAt: controller.translatedAt,
          synchronized: plane.isReady && plane.problems.length === 0,
          problems: plane.problems,
          warnings: [],
        }),
        serving: async () =>
          await Promise.resolve({
            keySets: [],
            binds: [],
            closedPorts: [],
            brokenRoutes: [],
            certificates: [],
            mcp: undefined,
            workers: [],
          }),
        readiness: () => (draining ? 'draining' : plane.isReady ? 'ready' : 'starting'),
        logLevel: () => log.level,
        setLogLevel: (level) => log.setLevel(level),
        drain: () => void running.close(),
      },
    });
  } catch (error) {
    await plane.close();
    await finish();
    throw error;
  }
  void plane.ready.then(() => {
    log.info('ready', { gateways: controller.translation?.models.size ?? 0, leader: controller.isLeader });
  });
  const { readiness, stats } = admin.addresses;
  log.info('Watching the cluster', {
    server: access.server.origin,
    namespace,
    models: models?.port ?? 'off',
    stats: stats ?? 'off',
    readiness: readiness ?? 'off',
  });
  return running;
}

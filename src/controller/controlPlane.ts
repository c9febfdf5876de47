import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { defaults, type ListenAddress } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { Access } from './api/access.ts';
import type { KubeApi } from './api/api.ts';
import { Controller, defaultControllerName } from './controller.ts';
import type { Installation } from './provision/request.ts';
import { ModelServer } from './serve/modelServer.ts';
import { ServiceAddress } from './serve/serviceAddress.ts';

export interface ControlPlaneSettings {
  readonly namespace: string | undefined;
  readonly watchNamespaces: readonly string[] | undefined;
  readonly controllerName: string | undefined;
  /** The address where proxies get their models. */
  readonly models: ListenAddress | undefined;
  readonly service: string | undefined;
  readonly certificate: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
  readonly proxyImage: string | undefined;
  readonly proxyImagePullPolicy: string | undefined;
}

export interface ControlPlaneTools {
  readonly access: Access;
  readonly api: KubeApi;
  readonly version: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The port of the chart's Service. */
const modelsPort = 15_010;
const secretName = 'portcullis-controller';
const sessionsSecretName = 'portcullis-sessions';
const defaultService = 'portcullis-controller';

/** The controller, what it tells proxies, and what it needs to make them. */
export interface ControlPlane {
  readonly controller: Controller;
  readonly models: ModelServer | undefined;
  /** The namespace of the controller itself. */
  readonly namespace: string;
  /** The reasons why it is not ready, or not quite well, a line each. */
  readonly problems: readonly string[];
  readonly isReady: boolean;
  /** Resolves when it is ready for the first time. */
  readonly ready: Promise<void>;
  /** Sends proxies elsewhere, and ends what is under way. */
  close(): Promise<void>;
}

/** @throws Error where the port for proxies cannot be bound; nothing is left running then */
export async function startControlPlane(
  settings: ControlPlaneSettings,
  { access, api, version, log, metrics }: ControlPlaneTools,
): Promise<ControlPlane> {
  const namespace = settings.namespace ?? access.namespace ?? 'default';
  const controllerName = settings.controllerName ?? defaultControllerName;
  const service = settings.service ?? defaultService;
  const address = settings.models ?? { kind: 'tcp', host: '::', port: modelsPort };
  const changed = (): void => controller?.changed();
  let controller: Controller | undefined;

  const models =
    address.kind === 'tcp'
      ? await ModelServer.start({
          api,
          host: address.host,
          port: address.port,
          controller: `${hostname()} (${version})`,
          files: settings.certificate,
          controllerName,
          namespace,
          secretName,
          sessionsSecretName,
          names: namesOf(service, namespace),
          mayWrite: () => controller?.isLeader === true,
          onTrust: changed,
          onSessionKeys: changed,
          // Only statuses say it.
          onTroubles: () => controller?.changed('later'),
          log,
          metrics,
        })
      : undefined;
  const { proxyImage } = settings;
  const found =
    proxyImage === undefined
      ? undefined
      : new ServiceAddress({ api, namespace, name: service, onAddress: changed, log });
  /** The controller makes objects only when all their inputs are known: each change is another pod. */
  const installation = (): Installation | undefined =>
    proxyImage === undefined || models?.trust === undefined || found?.isKnown !== true
      ? undefined
      : {
          controllerName,
          image: proxyImage,
          imagePullPolicy: settings.proxyImagePullPolicy,
          controller: `${service}.${namespace}.svc:${String(modelsPort)}`,
          controllerAddress: found.address,
          trust: models.trust,
        };

  const started = (controller = new Controller({
    api,
    namespace,
    // The name of the pod, for people; the rest makes a restarted container another candidate.
    identity: `${hostname()}_${randomUUID()}`,
    controllerName,
    watchNamespaces: settings.watchNamespaces,
    process: defaults,
    ...(proxyImage === undefined ? {} : { installation }),
    ...(models === undefined ? {} : { podKey: (pod) => models.podKeyOf(pod) }),
    troubles: () => models?.troubles ?? new Map(),
    onTranslation: (translation) => models?.publish(translation),
    onAddresses: (endpoints) => models?.publishAddresses(endpoints),
    log,
    metrics,
  }));
  return {
    controller: started,
    models,
    namespace,
    get problems() {
      return [
        ...started.waitsFor.map((kind) => `${kind} objects are not known yet`),
        ...(models?.missing ?? []),
        ...(models?.proxies ?? []).flatMap(({ gateway, proxy, problems }) =>
          problems.map((problem) => `${proxy} of Gateway ${gateway} refuses its model: ${problem}`),
        ),
      ];
    },
    get isReady() {
      return started.isReady && models?.isReady !== false;
    },
    ready: Promise.all([started.ready, models?.ready]).then(() => undefined),
    close: async () => {
      await Promise.all([models?.close(), found?.close(), started.close()]);
    },
  };
}

/** All that a Service is called inside a cluster. */
const namesOf = (service: string, namespace: string): readonly string[] => [
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
  `${service}.${namespace}`,
  service,
];

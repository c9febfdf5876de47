import { messageOf } from '../../errorText.ts';
import type { AddressLists } from '../../model/index.ts';
import { StreamServer, type ProxyView, type ServerPace, type ReportedProblem } from '../../stream/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { tokenAudience } from '../provision/deployment.ts';
import { proxyName } from '../provision/names.ts';
import {
  mcpAccountName,
  mcpModelKey,
  mcpOfModel,
  type GatewayModel,
  type Translation,
} from '../translate/index.ts';
import { CertificateFiles, type CertificateFileNames } from './certificateFiles.ts';
import { trustOf } from './material.ts';
import { OwnCertificate } from './ownCertificate.ts';
import { SessionSeed } from './sessionSeed.ts';
import { TokenReviewer, type Account } from './tokenReview.ts';

export interface ModelServerOptions {
  readonly api: KubeApi;
  readonly host: string;
  readonly port: number;
  /** Names this process, for people. */
  readonly controller: string;
  /** The certificate of an operator, in place of one of our own. */
  readonly files?: CertificateFileNames | undefined;
  /** It is a part of the names of the pods of McpBackends. */
  readonly controllerName: string;
  /** The namespace of the controller, which holds the Secret with its certificate. */
  readonly namespace: string;
  readonly secretName: string;
  /** The Secret with what session keys are derived from lies there, too. */
  readonly sessionsSecretName: string;
  /** Hosts and addresses that proxies reach controllers by. */
  readonly names: readonly string[];
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** `trust` is another one now. */
  readonly onTrust: () => void;
  /** Session keys are others now: models have to be published again. */
  readonly onSessionKeys: () => void;
  /** `troubles` says something else now. */
  readonly onTroubles: () => void;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly pace?: Partial<ServerPace>;
  readonly intervalMs?: number;
  readonly retryMs?: number;
}

interface Closable {
  close(): Promise<void> | void;
}

/** Serves the models of Gateways to their proxies, and is believed by them. */
export class ModelServer {
  private readonly options: ModelServerOptions;
  private readonly server: StreamServer<Account>;
  private readonly certificate: Closable;
  private readonly sessions: SessionSeed;
  private readonly keyed = new WeakMap<GatewayModel, GatewayModel>();
  private readonly firstShown = Promise.withResolvers<void>();
  private readonly firstSeed = Promise.withResolvers<void>();
  private shown = false;
  private pem: string | undefined;

  private constructor(options: ModelServerOptions, server: StreamServer<Account>) {
    this.options = options;
    this.server = server;
    const { files, api, namespace, secretName, names, mayWrite, log, intervalMs, retryMs } = options;
    const pace = {
      ...(intervalMs === undefined ? {} : { intervalMs }),
      ...(retryMs === undefined ? {} : { retryMs }),
    };
    this.sessions = new SessionSeed({
      api,
      namespace,
      secretName: options.sessionsSecretName,
      mayWrite,
      onSeed: () => {
        this.firstSeed.resolve();
        options.onSessionKeys();
      },
      log,
      ...pace,
    });
    this.certificate =
      files === undefined
        ? new OwnCertificate({
            api,
            namespace,
            secretName,
            names,
            mayWrite,
            onMaterial: (material) => this.show(material.server, trustOf(material)),
            log,
            ...pace,
          })
        : new CertificateFiles(files, (identity, trust) => this.show(identity, trust), log);
  }

  /** @throws Error when the port cannot be bound */
  static async start(options: ModelServerOptions): Promise<ModelServer> {
    const { api, host, port, controller, controllerName, mayWrite, onTroubles, log, metrics, pace } = options;
    const reviewer = new TokenReviewer({ api, audience: tokenAudience, metrics });
    const server = await StreamServer.listen<Account>({
      host,
      port,
      controller,
      authenticate: (token, address) => reviewer.review(token, address),
      mayRead: (account, gateway) => mayRead(controllerName, account, gateway),
      onTroubles,
      wantsTroublesElsewhere: () => !mayWrite(),
      log,
      metrics,
      ...(pace === undefined ? {} : { pace }),
    });
    return new ModelServer(options, server);
  }

  get port(): number {
    return this.server.port;
  }

  /** Resolves when proxies can connect and get models. */
  get ready(): Promise<void> {
    return Promise.all([this.firstShown.promise, this.firstSeed.promise]).then(() => undefined);
  }

  get isReady(): boolean {
    return this.missing.length === 0;
  }

  /** The reasons why proxies get nothing here, a line each; none when it is ready. */
  get missing(): readonly string[] {
    const { namespace, sessionsSecretName } = this.options;
    return [
      ...(this.shown ? [] : ['there is no certificate to show to proxies yet']),
      ...(this.sessions.isKnown
        ? []
        : [`the seed of session keys is not known yet (Secret ${namespace}/${sessionsSecretName})`]),
    ];
  }

  /** Certificates that proxies are to trust us by, in the PEM form; undefined while that is not known. */
  get trust(): string | undefined {
    return this.pem;
  }

  get proxies(): readonly ProxyView[] {
    return this.server.proxies;
  }

  /** The parts of models that proxies could not serve, by `namespace/name` of the Gateway. */
  get troubles(): ReadonlyMap<string, readonly ReportedProblem[]> {
    return this.server.troubles;
  }

  /** The key that proxies show to the pod of a target; undefined while that is not known. */
  podKeyOf(pod: string): string | undefined {
    return this.sessions.podKeyOf(pod);
  }

  /**
   * Sends models to their proxies; nothing while the seed of session keys is unknown. Without its key, a model would make
   * each proxy take a key of its own, which ends sessions and logins. `onSessionKeys` asks for the models again.
   */
  publish({ models, pods, endpoints }: Pick<Translation, 'models' | 'pods' | 'endpoints'>): void {
    if (!this.sessions.isKnown) return;
    const ofPods = Array.from(pods, ([key, { model }]) =>
      model === undefined ? [] : [[mcpModelKey(key), model] as const],
    ).flat();
    const keyed = Array.from(
      [...models, ...ofPods],
      ([gateway, one]) => [gateway, this.withSessionKey(gateway, one)] as const,
    );
    this.server.publish(new Map(keyed), endpoints);
  }

  publishAddresses(endpoints: AddressLists): void {
    this.server.publishAddresses(endpoints);
  }

  /** Sends proxies to another controller. */
  async close(graceMs?: number): Promise<void> {
    await Promise.all([this.certificate.close(), this.sessions.close()]);
    await this.server.close(graceMs);
  }

  /** Adds the session key: every proxy of a Gateway can open what another one seals, in cookies above all. */
  private withSessionKey(gateway: string, published: GatewayModel): GatewayModel {
    const sessionKey = this.sessions.keyOf(gateway);
    if (sessionKey === undefined) return published;
    // The same as before where nothing is new: then nobody need look at it again.
    const before = this.keyed.get(published);
    if (before?.model.process.fixed.sessionKey === sessionKey) return before;
    const { model } = published;
    const { process } = model;
    const fixed = { ...process.fixed, sessionKey };
    const keyed = { ...published, model: { ...model, process: { ...process, fixed } } };
    this.keyed.set(published, keyed);
    return keyed;
  }

  private show(identity: { readonly cert: string; readonly key: string }, trust: string): void {
    try {
      this.server.useCertificate(identity);
    } catch (error) {
      this.options.log.error('Certificate for proxies rejected', {
        reason: messageOf(error),
      });
      return;
    }
    this.shown = true;
    this.firstShown.resolve();
    if (this.pem === trust) return;
    this.pem = trust;
    this.options.onTrust();
  }
}

/**
 * The proxies of a Gateway run as the one ServiceAccount that is made for them, in its namespace; so does the pod of a
 * target.
 */
function mayRead(controllerName: string, { namespace, name }: Account, model: string): boolean {
  const [at = '', of = ''] = model.split('/');
  const pod = mcpOfModel(of);
  const account = pod === undefined ? proxyName(of) : mcpAccountName(controllerName, pod.name, pod.target);
  return namespace === at && name === account;
}

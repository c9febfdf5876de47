import { stackOf } from '../errorText.ts';
import type { ProcessSettings } from '../model/index.ts';
import type { ReportedProblem } from '../stream/index.ts';
import type { Counter, Histogram, Logger, Metrics } from '../telemetry/index.ts';
import type { KubeApi } from './api/api.ts';
import { keyOf } from './api/object.ts';
import { ClusterObjects } from './clusterObjects.ts';
import { resourceOfKind } from './kinds.ts';
import { Election, type ElectionPace } from './leader/election.ts';
import { Fleet } from './provision/fleet.ts';
import { McpPodFleet } from './provision/mcpPodFleet.ts';
import { ProvisionedObjects } from './provision/provisionedObjects.ts';
import { KnownParameters } from './provision/knownParameters.ts';
import type { Installation } from './provision/request.ts';
import {
  addressesIn,
  type EndpointTable,
  type Infrastructure,
  type KubeObjects,
  type Translation,
} from './translate/index.ts';
import { Translator } from './translate/translator.ts';
import type { Gateway } from './types/index.ts';
import type { WatchPace } from './watch/listWatch.ts';
import { WatchMetrics } from './watch/watchMetrics.ts';
import { Coalescer, type Urgency } from './work/coalescer.ts';
import { Patience } from './work/patience.ts';
import { StatusWriter } from './write/statusWriter.ts';

/** The controller name in the GatewayClasses that are ours. */
export const defaultControllerName = 'portcullis.dev/gateway';
const leaseName = 'portcullis-controller';

export interface ControllerOptions {
  readonly api: KubeApi;
  /** The namespace of the lease: that of the controller itself. */
  readonly namespace: string;
  /** Unlike that of every other controller that ever ran. */
  readonly identity: string;
  readonly controllerName?: string;
  /** Follow these namespaces only. */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** The part of every model that is not the Gateway API's. */
  readonly process: ProcessSettings;
  /**
   * The installation with which the proxies of Gateways are made; undefined while it is not known. Left out, none
   * are made, and Gateways wait for somebody else to serve them.
   */
  readonly installation?: () => Installation | undefined;
  /**
   * By `namespace/name`: what somebody else serves Gateways with, where none are made. Asked before each translation, so
   * `changed` says when the answer is another.
   */
  readonly infrastructure?: (gateways: readonly Gateway[]) => ReadonlyMap<string, Infrastructure>;
  /** By `namespace/name`: what proxies could not make of the models of their Gateways. Asked before each translation. */
  readonly troubles?: () => ReadonlyMap<string, readonly ReportedProblem[]>;
  /**
   * The key that proxies show to the pod of a target, by `namespace/name/target` of its McpBackend; undefined while
   * that is not known. Left out, McpBackends have no pods of their own.
   */
  readonly podKey?: (pod: string) => string | undefined;
  /** Everything was translated anew. */
  readonly onTranslation?: (translation: Translation) => void;
  /** Only addresses have changed: those of every key that the last translation names. */
  readonly onAddresses?: (endpoints: EndpointTable) => void;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly watchPace?: WatchPace;
  readonly electionPace?: ElectionPace;
  readonly dataPace?: DataPace;
}

/** The one key of the time after the start. */
const start: ReadonlySet<string> = new Set(['start']);

/** How long Gateways may wait for data, in milliseconds. */
export interface DataPace {
  /** Several retries of a failed read. */
  readonly waitMs: number;
  /** After the start, for Gateways without a model: their proxies still have the one of the controller before. */
  readonly startMs: number;
}

const usualPace: DataPace = { waitMs: 10_000, startMs: 300_000 };

/** Everything, what a few routes are about, addresses only, or with Gateways whose data is not read yet. */
type Work = 'objects' | 'part' | 'addresses' | 'incomplete';

/**
 * The control plane: follows the cluster, turns it into models, and, where it leads, writes down what became of each
 * object. Every replica has the models; one of them writes.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #objects: ClusterObjects;
  readonly #election: Election;
  readonly #status: StatusWriter;
  readonly #provisioned: ProvisionedObjects | undefined;
  readonly #fleet: Fleet | undefined;
  readonly #mcpPods: McpPodFleet | undefined;
  readonly #coalescer: Coalescer;
  readonly #runs: Counter;
  readonly #duration: Histogram;
  /**
   * The controller writes a status only when it knows everything: half a cluster looks as if the other half had
   * been deleted.
   */
  #synced = false;
  #objectsChanged = true;
  readonly #translator = new Translator();
  #translation: Translation | undefined;
  /** How long Gateways wait for data, and how long those without a model do after the start. */
  readonly #patience: Patience;
  readonly #startPatience: Patience;
  #translatedAt: number | undefined;
  #ready: () => void = () => {};
  /** Resolves when everything was translated for the first time; never, when it is closed before. */
  readonly ready: Promise<void>;

  constructor(options: ControllerOptions) {
    const { api, namespace, identity, watchNamespaces, log, metrics, watchPace, electionPace } = options;
    this.#options = options;
    const { waitMs, startMs } = options.dataPace ?? usualPace;
    this.#patience = new Patience(waitMs);
    this.#startPatience = new Patience(startMs);
    this.ready = new Promise((resolve) => (this.#ready = resolve));
    this.#runs = metrics.counter('kube_translations_total', 'Translations of the cluster', ['what']);
    this.#duration = metrics.histogram(
      'kube_translation_duration_seconds',
      'How long a translation took',
      ['what'],
      [0.001, 0.005, 0.02, 0.1, 0.5, 2],
    );
    metrics.collect('kube_gateways', 'Gateways of ours that are accepted', 'gauge', [], () => [
      { labels: {}, value: this.#translation?.models.size ?? 0 },
    ]);
    this.#coalescer = new Coalescer({ run: () => this.#run(), log });
    const watchMetrics = new WatchMetrics(metrics);
    this.#objects = new ClusterObjects({
      api,
      namespaces: watchNamespaces,
      log,
      metrics: watchMetrics,
      isEcho: (change) => this.#status.isEcho(change),
      onChange: (what, urgency) => this.#changed(what, urgency),
      ...(watchPace === undefined ? {} : { pace: watchPace }),
    });
    this.#election = new Election({
      api,
      namespace,
      name: leaseName,
      identity,
      // The new leader writes the statuses that the leader before it did not write.
      onStartedLeading: () => {
        this.changed();
        this.#fleet?.resume();
        this.#mcpPods?.resume();
      },
      onStoppedLeading: () => {},
      log,
      metrics,
      ...(electionPace === undefined ? {} : { pace: electionPace }),
    });
    this.#status = new StatusWriter({
      api,
      resourceOf: resourceOfKind,
      mayWrite: () => this.#election.isLeader,
      onStale: () => this.changed('later'),
      givesWay: () => this.#fleet?.isBusy === true || this.#mcpPods?.isBusy === true,
      isUnsettled: ({ kind, namespace, name }) =>
        (kind === 'Gateway' && this.#fleet?.isBeginning(keyOf(namespace, name)) === true) ||
        (kind === 'McpBackend' && this.#mcpPods?.isBeginning(keyOf(namespace, name)) === true),
      log,
      metrics,
    });
    const { installation, controllerName = defaultControllerName } = options;
    if (installation !== undefined) {
      this.#provisioned = new ProvisionedObjects({
        api,
        namespaces: watchNamespaces,
        log,
        metrics: watchMetrics,
        pace: watchPace,
      });
      const making = {
        api,
        objects: this.#provisioned,
        controllerName,
        installation,
        mayWrite: () => this.#election.isLeader,
        // Pods come and go, each with a word of its own; models do not depend on them.
        onChange: () => this.changed('later'),
        log,
        metrics,
      };
      this.#fleet = new Fleet(making);
      this.#mcpPods = new McpPodFleet(making);
    }
    const known = this.#provisioned === undefined ? [this.#objects] : [this.#objects, this.#provisioned];
    void Promise.all(known.map(async ({ synced }) => await synced)).then((all) => {
      if (!all.every(Boolean)) return;
      this.#synced = true;
      this.changed();
    });
  }

  get isLeader(): boolean {
    return this.#election.isLeader;
  }

  get isReady(): boolean {
    return this.#translation !== undefined;
  }

  /** Kinds that are not known yet, and keep it from being ready. */
  get waitsFor(): readonly string[] {
    return [...this.#objects.missing, ...(this.#provisioned?.missing ?? [])];
  }

  /** `Date.now()` of the last translation. */
  get translatedAt(): number | undefined {
    return this.#translatedAt;
  }

  get translation(): Translation | undefined {
    return this.#translation;
  }

  /** Reports that an input of the translation has changed. */
  changed(urgency: Urgency = 'soon'): void {
    this.#changed('objects', urgency);
  }

  /** Ends the watches, gives the lease back, and lets a status that is being written be. */
  async close(): Promise<void> {
    await this.#coalescer.close();
    await Promise.all([this.#status.close(), this.#fleet?.close(), this.#mcpPods?.close()]);
    await Promise.all([this.#election.close(), this.#objects.close(), this.#provisioned?.close()]);
  }

  #changed(what: 'addresses' | 'objects', urgency: Urgency = 'soon'): void {
    if (what === 'objects') this.#objectsChanged = true;
    if (this.#synced) this.#coalescer.mark(urgency);
  }

  #run(): void {
    const objects = this.#objects.snapshot();
    const translation = this.#translation;
    if (this.#objectsChanged || translation === undefined) {
      this.#timed(() => this.#translate(objects));
      this.#objectsChanged = false;
    } else this.#timed(() => this.#refresh(objects, translation));
  }

  #translate(objects: KubeObjects): Work {
    const { log, process, onTranslation, podKey } = this.#options;
    const parameters = new KnownParameters(objects.parameters);
    const { parts } = this.#translator;
    const made = this.#translator.translate(objects, {
      controllerName: this.#options.controllerName ?? defaultControllerName,
      now: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      process,
      infrastructure:
        this.#fleet?.infrastructure(objects.gateways) ??
        this.#options.infrastructure?.(objects.gateways) ??
        new Map<string, Infrastructure>(),
      troubles: this.#options.troubles?.() ?? new Map<string, readonly ReportedProblem[]>(),
      parameters: parameters.named,
      pods:
        this.#mcpPods === undefined || podKey === undefined
          ? undefined
          : {
              infrastructure: this.#mcpPods.infrastructure(objects.mcpBackends),
              key: podKey,
              isKnown: podKey('') !== undefined,
            },
      bundleVersions: this.#objects.bundleVersions(),
    });
    for (const { object, error } of made.defects)
      log.error('Object could not be translated: this is a defect, please report it', {
        object,
        reason: stackOf(error),
      });
    const { held, translation } = this.#readData();
    if (translation === undefined) return 'incomplete';
    this.#translation = translation;
    onTranslation?.(translation);
    this.#fleet?.update(translation, objects, parameters);
    if (podKey !== undefined) this.#mcpPods?.update(translation, objects.mcpBackends);
    this.#status.submit(translation.report);
    this.#ready();
    if (held.size > 0) return 'incomplete';
    return this.#translator.parts > parts ? 'part' : 'objects';
  }

  /**
   * Reads the Secrets and ConfigMaps that the translation asked for. Until they are here, the Gateways that need them
   * stay as they were, and nothing is said of these Gateways. All others get what is new: a tenant whose policy always
   * names other Secrets must not stop them.
   * @returns no translation while everything is read for the first time
   */
  #readData(): { readonly held: ReadonlySet<string>; readonly translation: Translation | undefined } {
    this.#objects.hold(this.#translator.asked);
    const before = this.#translation;
    if (before === undefined && this.#objects.isStarting) return { held: new Set(), translation: undefined };
    const { unread } = this.#translator;
    const held = new Set(this.#patience.waiting(unread));
    if (this.#startPatience.waiting(start).size > 0)
      for (const gateway of unread) if (before?.models.has(gateway) !== true) held.add(gateway);
    return { held, translation: this.#translator.holding(held, before) };
  }

  #refresh(objects: KubeObjects, translation: Translation): Work {
    const endpoints = addressesIn(objects, translation.endpoints.keys());
    this.#translation = { ...translation, endpoints };
    this.#options.onAddresses?.(endpoints);
    return 'addresses';
  }

  #timed(run: () => Work): void {
    const begun = performance.now();
    const what = run();
    this.#translatedAt = Date.now();
    this.#runs.add({ what });
    this.#duration.observe({ what }, (performance.now() - begun) / 1_000);
  }
}
